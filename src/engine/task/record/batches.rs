//! Recording of observations: step, append, publish, and only then perform.

use std::sync::Arc;

use recount_journal::{CarriedOut, Durability};
use uuid::Uuid;

use super::full_disk::append_again;
use crate::engine::admission::takeover;
use crate::engine::error::Error;
use crate::engine::live_media::live_event::LiveEvent;
use crate::engine::task::parts::Stream;
use crate::engine::task::session_task::SessionTask;
use crate::ledger::{self, Objects, Recorded};
use crate::session::{
    Effect, Event, Fact, Hook, Observation, Seq, Timestamp, open_work, overdue, owed, step_in_place,
};

impl SessionTask {
    /// Records `observations`, then performs the owed effects.
    pub(in crate::engine) async fn record(
        &mut self,
        observations: Vec<Observation>,
    ) -> Result<(), Error> {
        self.put(observations, Objects::default()).await?;
        self.perform().await
    }

    /// Appends and publishes one batch: what a dead process left, overdue deadlines, and
    /// `observations`.
    ///
    /// Returns the record of the last observation. Earlier observations and the decisions have
    /// records around it.
    pub(in crate::engine) async fn put(
        &mut self,
        observations: Vec<Observation>,
        objects: Objects,
    ) -> Result<Seq, Error> {
        self.put_at(self.shared.clock.now(), observations, objects)
            .await
    }

    /// Works as [`put`](SessionTask::put), for observations made at `now`.
    pub(in crate::engine) async fn put_at(
        &mut self,
        now: Timestamp,
        observations: Vec<Observation>,
        objects: Objects,
    ) -> Result<Seq, Error> {
        // Batches that come before this one are not the outcome.
        let requested = self.stream.requested.take();
        let session = &self.stream.session;
        let taken_over = self.stream.owned.as_ref();
        let taken_over = taken_over.filter(|_| self.running.attached.is_none());
        let mut batch = match taken_over {
            None => overdue(session, now),
            Some(proof) => takeover::overdue_after(session, now, proof),
        };
        if batch.is_empty() {
            batch = observations;
        } else {
            batch.extend(observations);
        }
        self.add_pauses(&mut batch);
        if batch.is_empty() {
            return Ok(self.stream.session.head);
        }
        self.take_back_starts(&mut batch);
        // Held-back messages are older than this batch.
        self.record_held().await?;
        batch = self.connections.media.with_counts(batch);
        self.agent.hooks.redact(&mut batch);
        let mut objects = objects;
        if self.running.attached.is_none() {
            if let Some(proof) = &self.stream.owned {
                batch.splice(0..0, takeover::observations(&self.stream.session, proof));
            }
        } else if self.agent.names_implementations
            && let Some((renewed, more)) =
                Box::pin(self.renewal(self.stream.may_start(&batch))).await?
        {
            batch.insert(0, renewed.into());
            objects = objects.and(more);
        }
        self.append(now, batch, objects, requested).await
    }

    async fn append(
        &mut self,
        now: Timestamp,
        batch: Vec<Observation>,
        objects: Objects,
        requested: Option<Uuid>,
    ) -> Result<Seq, Error> {
        let durability = if batch.iter().all(may_be_buffered) {
            Durability::Buffered
        } else {
            Durability::Durable
        };
        let open_before = open_work(&self.stream.session);
        let was_paused = self.stream.session.should_pause();
        let (mut facts, mut changes, mut last) =
            (Vec::with_capacity(4), Vec::new(), self.stream.session.head);
        for observation in batch {
            last = self.stream.session.head.next();
            let span =
                tracing::info_span!("observation", session = %self.id, kind = observation.kind());
            let _entered = span.enter();
            let endless = |source| ledger::Error::Endless {
                session: self.id,
                source,
            };
            let before = self.stream.session.state.clone();
            // After an error the state here is not recorded, and the task stops.
            step_in_place(&mut self.stream.session, now, observation, &mut facts)
                .map_err(endless)?;
            if !Arc::ptr_eq(&before, &self.stream.session.state) {
                changes.push((last, before, self.stream.session.state.clone()));
            }
            while let Some(claim) = self.claim_for_client(now) {
                step_in_place(&mut self.stream.session, now, claim, &mut facts).map_err(endless)?;
            }
        }
        // Only a batch without decisions may be acknowledged before it is on disk.
        let decided = facts
            .iter()
            .any(|fact| matches!(fact.event, Event::Decided(_)));
        let durability = if decided {
            Durability::Durable
        } else {
            durability
        };
        let at = last.0;
        let batch = ledger::Batch {
            session: &self.stream.session,
            facts: &facts,
            open_before: &open_before,
            objects,
            durability,
            carries_out: requested.map(|request| CarriedOut { request, at }),
        };
        let (ledger, tail, seal) = (&self.stream.ledger, self.stream.tail, &self.stream.seal);
        let append = ledger.append_batch(tail, seal, batch.clone());
        let appended = match durability {
            Durability::Buffered => append.await,
            Durability::Durable => self.yield_after_sync.durable(append).await,
        };
        self.stream.tail = match appended {
            Ok(tail) => tail,
            Err(error) => {
                let (ledger, room) = (&self.stream.ledger, &self.stream.room);
                Box::pin(append_again(error, (ledger, room), (tail, seal), batch)).await?
            }
        };
        // What follows from the batch may go out at once, and the thread may have been stopped.
        self.stream.ledger.check_lease()?;
        self.order_relay(&facts);
        self.record_facts(&facts);
        self.note_waiting();
        if !was_paused && self.stream.session.should_pause() {
            let session = &self.stream.session;
            self.connections.media.tell(|| LiveEvent::Paused {
                long_running_tool_ids: session.long_running_tool_ids().into(),
            });
        }
        for (at, before, after) in &changes {
            self.running.watchers.notify(*at, before, after);
        }
        for fact in &facts {
            if !self.agent.extractors.is_empty() {
                self.running.turn.hear(fact);
                if matches!(fact.event, Event::Observed(Observation::TurnCompleted(_))) {
                    self.extract();
                }
            }
        }
        if !self.running.asking.is_empty() {
            self.answer_tools(&facts);
        }
        let mut taken = Vec::new();
        if !self.running.callers.is_empty() {
            taken = Box::pin(self.answer_callers(&facts)).await?;
        }
        let (publisher, session) = (&self.shared.publisher, self.id);
        let publish = |fact: Fact| {
            let taken = taken.contains(&fact.seq);
            let recorded = Arc::new(Recorded { session, fact });
            publisher.publish(&recorded, taken);
            recorded
        };
        self.stream.latest = facts.into_iter().map(publish).collect();
        Ok(last)
    }

    pub(in crate::engine) async fn perform(&mut self) -> Result<(), Error> {
        let mut calls = Vec::new();
        let owed = match self.owed_by_arrivals() {
            Some(owed) => owed,
            None => self.running.performer.reconcile(owed(&self.stream.session)),
        };
        self.running
            .performer
            .note_all_until(self.stream.session.head);
        for effect in owed {
            let shown = Hook::OnToolCall;
            if matches!(effect, Effect::AskHook { hook, .. } if hook == shown) {
                calls.push(effect);
            } else {
                self.begin_effect(effect).await?;
            }
        }
        // The calls of one frame are passed to the hook together.
        self.show_calls(calls);
        self.set_timer();
        self.stream.latest = Vec::new();
        Ok(())
    }
}

impl Stream {
    /// Returns a record of the session: from the last batch while it is performed, else from the
    /// journal.
    pub(in crate::engine) async fn recorded(
        &self,
        seq: Seq,
    ) -> Result<Option<Arc<Recorded>>, Error> {
        // The records of a batch are consecutive.
        let first = self.latest.first().map_or(seq, |it| it.fact.seq);
        let index = seq.0.checked_sub(first.0).map(usize::try_from);
        let latest = index.and_then(|index| self.latest.get(index.ok()?));
        if let Some(latest) = latest.filter(|it| it.fact.seq == seq) {
            return Ok(Some(latest.clone()));
        }
        // Boxed because it is rare: a batch in flight should not reserve memory for it.
        let fact = Box::pin(self.ledger.fact(self.session.id, seq)).await?;
        let session = self.session.id;
        Ok(fact.map(|fact| Arc::new(Recorded { session, fact })))
    }
}

/// True if an observation may be acknowledged before it is on disk, because no effect follows from
/// it.
fn may_be_buffered(observation: &Observation) -> bool {
    match observation {
        Observation::ModelOutputReceived(_)
        | Observation::TranscriptReceived(_)
        | Observation::UserTextSent(_)
        | Observation::UsageReported(_)
        | Observation::ResponsesSent(_)
        | Observation::TurnCompleted(_)
        | Observation::MediaCounted(_)
        | Observation::InstructionSent(_)
        | Observation::HistorySent(_)
        | Observation::TurnInterrupted(_) => true,
        Observation::SessionOpened(_)
        | Observation::RunnerAttached(_)
        | Observation::RunnerDetached(_)
        | Observation::RunnerDraining(_)
        | Observation::CatalogChanged(_)
        | Observation::SwitchPlanned(_)
        | Observation::ReconnectScheduled(_)
        | Observation::ConnectFailed(_)
        | Observation::ReconnectsExhausted(_)
        | Observation::Connected(_)
        | Observation::Disconnected(_)
        | Observation::GoAwayReceived(_)
        | Observation::ResumptionHandleReceived(_)
        | Observation::FunctionCallReceived(_)
        | Observation::CallCancellationReceived(_)
        | Observation::HookAnswered(_)
        | Observation::LlmAsked(_)
        | Observation::LlmReplied(_)
        | Observation::ToolReturned(_)
        // Listeners act on it.
        | Observation::ToolEventEmitted(_)
        | Observation::ToolPaused(_)
        | Observation::ToolAsked(_)
        | Observation::ToolYielded(_)
        | Observation::StateChanged(_)
        | Observation::ConfirmationAnswered(_)
        | Observation::ApprovalGiven(_)
        | Observation::AnswerRefused(_)
        | Observation::LeaveRevoked(_)
        | Observation::ResponseSupplied(_)
        | Observation::OutcomeFound(_)
        | Observation::CallClaimed(_)
        | Observation::LeaseRenewed(_)
        | Observation::ClaimEnded(_)
        | Observation::DeadlinePassed(_)
        | Observation::FrameRejected(_)
        | Observation::OperatorCancelled(_)
        | Observation::Paused(_)
        | Observation::Unpaused(_)
        | Observation::SessionClosed(_) => false,
    }
}
