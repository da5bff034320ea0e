//! Extractors, which run at the end of a turn, and the record of what they wrote.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use tokio_util::task::AbortOnDropHandle;

use crate::engine::error::Error;
use crate::engine::inputs::inbox::Input;
use crate::engine::task::session_task::SessionTask;
use crate::tool::State;

/// The maximum run time of an extractor. Its writes after that are dropped.
const EXTRACTOR_LIMIT: Duration = Duration::from_secs(30);

impl SessionTask {
    /// Passes the ended turn to every extractor.
    pub(in crate::engine) fn extract(&mut self) {
        let turn = std::mem::take(&mut self.running.turn);
        self.running.extracting.retain(|task| !task.is_finished());
        for extractor in &self.agent.extractors {
            let (name, state, own) = (extractor.name.clone(), self.state(), self.own.clone());
            let (read, turn, seen) = (extractor.read.clone(), turn.clone(), state.clone());
            // The call is inside the block, because a hook may panic before it returns its future.
            let reading = AssertUnwindSafe(async move { read(turn, seen).await });
            let (session, guard) = (self.id, self.start_guard());
            let task = tokio::spawn(async move {
                if !guard.may_begin() {
                    return;
                }
                let read = tokio::time::timeout(EXTRACTOR_LIMIT, reading.catch_unwind()).await;
                match read {
                    Ok(Ok(())) => {
                        let _ = own.send(Input::ExtractorEnded { name, state });
                    }
                    Ok(Err(_)) => tracing::error!(%session, hook = name, "the extractor panicked"),
                    Err(_) => tracing::error!(%session, hook = name, "the extractor took too long"),
                }
            });
            self.running.extracting.push(AbortOnDropHandle::new(task));
        }
    }

    /// Records the state that a hook wrote. State that does not fit a record is dropped and logged.
    pub(in crate::engine) async fn hook_ended(
        &mut self,
        name: &str,
        state: &State,
    ) -> Result<(), Error> {
        match self.stream.written_by(name, state) {
            Some(changed) => self.record(vec![changed]).await,
            None => Ok(()),
        }
    }
}
