//! The drain of a session when its engine shuts down. Short work finishes; the rest is left to the
//! next process.

use tokio_util::task::AbortOnDropHandle;

use super::draining::Draining;
use super::session_task::SessionTask;
use crate::engine::error::Error;
use crate::engine::inputs::inbox::{Input, Reply};
use crate::engine::reasons::SHUT_DOWN;
use crate::session::{
    Actor, Effect, Hook, Observation, OperatorCancelled, Phase, RunnerDetached, RunnerDraining,
    Timestamp, owed,
};

impl SessionTask {
    /// Starts no new work; [`is_drained`](SessionTask::is_drained) is true once the drain is over.
    pub(in crate::engine) async fn drain(
        &mut self,
        until: Timestamp,
        reply: Reply<()>,
    ) -> Result<(), Error> {
        let before = self.draining.take();
        let until = before.as_ref().map_or(until, |it| it.until.min(until));
        let mut replies = before.map(|it| it.replies).unwrap_or_default();
        replies.push(reply);
        let (reached, own) = (self.shared.clock.reached(until), self.own.clone());
        let alarm = AbortOnDropHandle::new(tokio::spawn(async move {
            reached.await;
            let _ = own.send(Input::DeadlineReached);
        }));
        self.draining = Some(Draining {
            until,
            replies,
            _alarm: alarm,
        });
        if self.is_drained() || self.running.attached.is_none() || self.stream.session.draining {
            return Ok(());
        }
        let reason = SHUT_DOWN.to_owned();
        self.record(vec![RunnerDraining { reason }.into()]).await
    }

    /// True if the drain is over: no tool or hook runs, no response is in flight, or the time is
    /// up.
    pub(super) fn is_drained(&self) -> bool {
        let Some(draining) = &self.draining else {
            return false;
        };
        let ends = |effect: &Effect| match effect {
            // A tool that has not begun never will: the engine grants no more slots. One that waits
            // for an approver may wait for ever.
            Effect::RunTool { call, .. } => {
                self.running.performer.has_begun(effect) && !self.stream.waits_in_place(*call)
            }
            Effect::AskHook { hook, runner, .. } => match hook {
                Hook::OnToolCall | Hook::BeforeToolResponse => {
                    self.running.attached == Some(*runner)
                }
                // The next engine asks the predicate again.
                Hook::ConfirmWhen => false,
            },
            // A message withheld behind an approver's answer is sent by the next engine.
            Effect::SendResponse {
                as_conversation, ..
            } => {
                self.connections.socket.is_some()
                    && !(*as_conversation && self.connections.media.is_withholding())
            }
            // It started when it became owed, and ends with the next input.
            Effect::CloseSession { .. } => true,
            Effect::AskConfirmation { .. }
            | Effect::SendInstruction { .. }
            | Effect::Connect
            | Effect::ArmTimer { .. } => false,
        };
        self.shared.clock.now() >= draining.until || !owed(&self.stream.session).iter().any(ends)
    }

    /// Returns the observations that detach this process as the runner, if it is attached.
    ///
    /// A start whose tool has not begun is listed, so the next runner starts it. If a program waits
    /// for such a call, the call is cancelled, because the program ends with this process. A call
    /// with an idempotency key is not: its caller asks for it again.
    pub(super) fn detachment(&self, reason: &str) -> Vec<Observation> {
        if self.running.attached.is_none() {
            return Vec::new();
        }
        let not_begun = self
            .running
            .performer
            .take_back(&owed(&self.stream.session));
        // The caller waits in this process, so nothing would receive the result.
        let calls = self.stream.session.calls.iter();
        let in_vain = calls.filter(|(call, it)| {
            let has_not_begun = || not_begun.iter().any(|start| start.call == **call);
            let starts_later = matches!(it.phase, Phase::Ready { .. }) || has_not_begun();
            it.made_by_program && starts_later && !self.stream.session.has_key(**call)
        });
        let taken_back = in_vain.map(|(call, _)| {
            let cancelled = OperatorCancelled {
                call: *call,
                reason: Some(reason.to_owned()),
                by: Actor::embedder(crate::engine::program::PROGRAM),
                response: None,
            };
            Observation::from(cancelled)
        });
        // After the detachment; otherwise the slot freed by a cancellation would start another
        // call.
        let taken_back: Vec<Observation> = taken_back.collect();
        let reason = reason.to_owned();
        let detached = RunnerDetached { reason, not_begun };
        [detached.into()].into_iter().chain(taken_back).collect()
    }

    /// Ends the task's work: cancels what still runs, and waits for the socket to close.
    pub(in crate::engine) async fn shut_down(&mut self) {
        let outcome = self.disconnect(SHUT_DOWN).await;
        self.connections.reconnecting.closing_socket().await;
        let mut owned = None;
        self.shared.registry.remove_if(self.id, || {
            owned = self.stream.ledger.let_go(self.id);
            true
        });
        // Tools of other sessions may run for long, and this one can go on elsewhere meanwhile.
        self.stream.ledger.release(self.id, owned).await;
        if let Some(draining) = self.draining.take() {
            // A failed journal reports its error when it is closed.
            let mut replies = draining.replies.into_iter();
            if let Some(first) = replies.next() {
                let _ = first.send(outcome);
            }
        }
    }
}
