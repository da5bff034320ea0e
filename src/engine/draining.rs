//! Ending in good order: short work ends and is told, the rest stays for whoever comes next.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::oneshot;
use tokio_util::task::AbortOnDropHandle;

use super::Engine;
use super::error::Error;
use super::inbox::{Input, Reply};
use super::reasons::SHUT_DOWN;
use super::task::SessionTask;
use crate::session::{
    Actor, Effect, Hook, Observation, OperatorCancelled, Phase, RunnerDetached, RunnerDraining,
    Timestamp, owed,
};
use crate::tool::PolicyTool;

/// How long a shutdown without any grace waits for the callbacks: one that takes a moment hears everything.
const LAST_NEWS: Duration = Duration::from_secs(1);

impl Engine {
    /// Ends every task in good order and closes the journal, so that the next process can open it.
    ///
    /// What runs gets some time to end: within `grace`, nothing new starts, tools that end are told to their models, and a
    /// session in which nothing runs is let go at once. After it, what still runs is cut off, and the next engine does what
    /// its tool's rule for that says. Everything else stays open for it, also a call that waited for a
    /// [place](super::EngineBuilder::running_max): it has not run, and will. With [`Duration::ZERO`] nothing that runs is waited for.
    ///
    /// The engine's closures, such as [`on_confirmation_requested`](super::EngineBuilder::on_confirmation_requested), hear what is
    /// on record by then, as long as the grace lasts, and for a second at least. Answers at this time are refused or wait, so a
    /// closure had better not wait for one.
    ///
    /// Operators are sent away first: what they want then, they ask the next process, or do by themselves.
    ///
    /// A rolling deploy needs no more: the old process gets its signal and shuts down, the new one is started meanwhile and
    /// [waits](super::EngineBuilder::wait) for the journal, somewhat longer than the grace.
    ///
    /// ```
    /// # async fn example(engine: recount::engine::Engine) -> Result<(), recount::engine::Error> {
    /// use std::time::Duration;
    /// // On SIGTERM, with less than the time the supervisor gives.
    /// engine.shutdown(Duration::from_secs(20)).await
    /// # }
    /// ```
    ///
    /// # Errors
    /// Where the journal cannot be written.
    pub async fn shutdown(&self, grace: Duration) -> Result<(), Error> {
        // What an operator answers from here on could begin a task that nobody ends.
        #[cfg(feature = "live")]
        self.dismiss_operators().await;
        // Before any session is told: a place that gets free must not go to a session that has not been told yet.
        self.inner.slots.shut();
        let until = self.inner.clock.now().after(grace);
        // Neither is a session woken while its end is awaited: one that is being woken now is there to be told.
        let ringing = self.ringing().take();
        if let Some(ringing) = ringing {
            ringing.abort();
            let _ = ringing.await;
        }
        let mut ending = Vec::new();
        for task in self.inner.registry.all() {
            let (reply, done) = oneshot::channel();
            let drain = Input::Drain { until, reply };
            ending.extend(task.inbox.send(drain).is_ok().then_some(done));
        }
        let mut ended = pin!(async {
            for done in ending {
                // A task that failed has said so to its callers.
                let _ = done.await;
            }
        });
        tokio::select! {
            biased;
            () = &mut ended => {}
            () = self.inner.clock.reached(until) => {
                // A session that waits for room on the disk has waited long enough.
                self.inner.room.end();
                ended.await;
            }
        }
        let at_least = self.inner.clock.now().after(LAST_NEWS);
        let heard = async {
            // Whoever writes to a session without a task publishes what was written first, and is the last to do so.
            let turn = self.inner.desk.lock().await;
            self.inner.publisher.heard().await;
            turn
        };
        let _turn = tokio::select! {
            biased;
            turn = heard => Some(turn),
            () = self.inner.clock.reached(until.max(at_least)) => {
                tracing::warn!("the engine shuts down before its callbacks have heard everything");
                None
            }
        };
        self.follow_no_more();
        self.shut_down_tools().await;
        Ok(self.inner.ledger.journal().close().await?)
    }

    /// Has every tool let go of what it holds; those that hold it in common wait together.
    async fn shut_down_tools(&self) {
        let agents: Vec<_> = self.agents().values().cloned().collect();
        let tools = agents.iter().flat_map(|it| {
            let dispatcher = &it.dispatcher;
            dispatcher.names().filter_map(|name| dispatcher.get(name))
        });
        join_all(tools.map(PolicyTool::shut_down)).await;
    }
}

/// A session that ends as soon as nothing runs, and at a time at the latest.
pub(super) struct Draining {
    until: Timestamp,
    /// Who waits for the end; more than one where an engine is shut down again.
    replies: Vec<Reply<()>>,
    _alarm: AbortOnDropHandle<()>,
}

impl SessionTask {
    /// Starts nothing more; [`is_drained`](SessionTask::is_drained) says when it is over.
    pub(super) async fn drain(&mut self, until: Timestamp, reply: Reply<()>) -> Result<(), Error> {
        let before = self.draining.take();
        let until = before.as_ref().map_or(until, |it| it.until.min(until));
        let mut replies = before.map(|it| it.replies).unwrap_or_default();
        replies.push(reply);
        let (reached, own) = (self.clock.reached(until), self.own.clone());
        let alarm = AbortOnDropHandle::new(tokio::spawn(async move {
            reached.await;
            let _ = own.send(Input::TimeCame);
        }));
        self.draining = Some(Draining {
            until,
            replies,
            _alarm: alarm,
        });
        if self.is_drained() || self.attached.is_none() || self.session.draining {
            return Ok(());
        }
        let reason = SHUT_DOWN.to_owned();
        self.record(vec![RunnerDraining { reason }.into()]).await
    }

    /// Whether there is nothing left to wait for: no tool or hook runs and no response is on its way, or the time is up.
    pub(super) fn is_drained(&self) -> bool {
        let Some(draining) = &self.draining else {
            return false;
        };
        let ends = |effect: &Effect| match effect {
            // One that has not begun never will: the engine gives no place any more.
            // One that waits for a person may take for ever.
            Effect::RunTool { call, .. } => {
                self.performer.has_begun(effect) && !self.waits_in_place(*call)
            }
            Effect::AskHook { hook, runner, .. } => match hook {
                Hook::OnToolCall | Hook::BeforeToolResponse => self.attached == Some(*runner),
                // It is a question, which the next engine asks again.
                Hook::ConfirmWhen => false,
            },
            // What waits behind the answer of a person is told by the next engine.
            Effect::SendResponse {
                as_conversation, ..
            } => self.socket.is_some() && !(*as_conversation && self.media.is_withholding()),
            // It was begun with what made it owed, and takes no longer than the next input.
            Effect::CloseSession { .. } => true,
            Effect::AskConfirmation { .. }
            | Effect::SendInstruction { .. }
            | Effect::Connect
            | Effect::ArmTimer { .. } => false,
        };
        self.clock.now() >= draining.until || !owed(&self.session).iter().any(ends)
    }

    /// Ends this process's part as the runner, if it has one. A start whose tool has not begun does not count, so the next
    /// runner starts it; a program that waits for such a call goes with its process, so the call is taken back.
    pub(super) fn detachment(&self, reason: &str) -> Vec<Observation> {
        if self.attached.is_none() {
            return Vec::new();
        }
        let not_begun = self.performer.take_back(&owed(&self.session));
        // Its caller waits in this process, so nobody would be there for what it gives.
        let calls = self.session.calls.iter();
        let in_vain = calls.filter(|(call, it)| {
            let has_not_begun = || not_begun.iter().any(|start| start.call == **call);
            it.made_by_program && (matches!(it.phase, Phase::Ready { .. }) || has_not_begun())
        });
        let taken_back = in_vain.map(|(call, _)| {
            let cancelled = OperatorCancelled {
                call: *call,
                reason: Some(reason.to_owned()),
                by: Actor::embedder(super::PROGRAM),
                response: None,
            };
            Observation::from(cancelled)
        });
        // Behind the end of the runner, or the place that it leaves would start another call.
        let taken_back: Vec<Observation> = taken_back.collect();
        let reason = reason.to_owned();
        let detached = RunnerDetached { reason, not_begun };
        [detached.into()].into_iter().chain(taken_back).collect()
    }

    /// Ends the task's work: what still runs is cut off, and the socket says goodbye.
    pub(super) async fn shut_down(&mut self) {
        let outcome = self.disconnect(SHUT_DOWN).await;
        self.reconnecting.farewell().await;
        self.registry.remove(self.id);
        if let Some(draining) = self.draining.take() {
            // A journal that fails is told by its close, to whoever closes it.
            let mut replies = draining.replies.into_iter();
            if let Some(first) = replies.next() {
                let _ = first.send(outcome);
            }
        }
    }
}
