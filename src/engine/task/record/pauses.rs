//! The stop switch in a session's task.

use crate::engine::error::Error;
use crate::engine::inputs::inbox::CancelRunning;
use crate::engine::task::session_task::SessionTask;
use crate::ledger::Objects;
use crate::session::{Command, Effect, Observation, owed};

impl SessionTask {
    /// Adds the pauses of more than one session that this one has not observed, before everything
    /// else that the batch contains.
    pub(in crate::engine) fn add_pauses(&mut self, batch: &mut Vec<Observation>) {
        let version = self.stream.ledger.pause_version();
        if self.stream.pauses_known == version {
            return;
        }
        self.stream.pauses_known = version;
        let ledger = &self.stream.ledger;
        let owed = ledger.unobserved_pauses(&self.stream.session, &self.agent.name);
        // A session begins with `session_opened`.
        let opens = matches!(batch.first(), Some(Observation::SessionOpened(_)));
        let at = usize::from(opens);
        batch.splice(at..at, owed);
    }

    /// Takes back the starts that a pause of this batch holds and whose tool has not begun, for
    /// example because it waits for a slot.
    pub(in crate::engine) fn take_back_starts(&self, batch: &mut [Observation]) {
        if self.running.attached.is_none() {
            return;
        }
        for observation in batch {
            if let Observation::Paused(it) = observation {
                let session = &self.stream.session;
                let is_held = |effect: &Effect| {
                    let call = effect.call().and_then(|call| session.calls.get(&call));
                    call.is_some_and(|call| session.is_covered(&it.scope, call))
                };
                let mut runs = owed(session);
                runs.retain(is_held);
                it.not_begun = self.running.performer.take_back(&runs);
            }
        }
    }

    /// Observes the pauses of more than one session, and cancels what runs if that is asked.
    pub(in crate::engine) async fn observe_pauses(
        &mut self,
        cancels: Vec<CancelRunning>,
    ) -> Result<(), Error> {
        self.put(Vec::new(), Objects::default()).await?;
        self.perform().await?;
        for cancel in cancels {
            self.cancel_running(cancel).await?;
        }
        // The end of a pause may leave calls that wait for a runner.
        self.attach_if_needed().await
    }

    /// Cancels the calls of the scope whose tool runs at this moment.
    async fn cancel_running(&mut self, cancel: CancelRunning) -> Result<(), Error> {
        for call in cancel.calls_of(&self.stream.session) {
            let (reason, by) = (cancel.reason.clone(), cancel.by.clone());
            let command = Command::CancelCall { call, reason, by };
            match Box::pin(self.command(command)).await {
                // It ended, or was cancelled with the agent that made it.
                Ok(_) | Err(Error::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
