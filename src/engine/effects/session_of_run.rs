//! A tool's access to its session: events, questions, the end of the session, and its history.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::{Semaphore, oneshot};

use super::progress_reporter::ProgressReporter;
use super::start_guard::StartGuard;
use crate::engine::clock::Clock;
use crate::engine::inputs::inbox::{Inbox, Input};
use crate::engine::telling::history;
use crate::ledger::Ledger;
use crate::session::{Timestamp, ToolAsked, ToolEventEmitted};
use crate::tool::{LookBack, ToolConfirmation, ToolError, ToolEvents};

/// A tool's handle to its session.
pub(in crate::engine) struct SessionOfRun {
    pub(in crate::engine) inbox: Inbox,
    pub(in crate::engine) ledger: Ledger,
    pub(in crate::engine) guard: StartGuard,
    pub(in crate::engine) clock: Arc<dyn Clock>,
    /// The permits of events that wait to be recorded. Each event holds one until then.
    pub(in crate::engine) room: Arc<Semaphore>,
    /// The reason to end the session once the run has returned.
    pub(in crate::engine) ends_session: OnceLock<String>,
    /// The reporter of the run's progress, if its policy uses it.
    pub(in crate::engine) progress: Option<ProgressReporter>,
}

#[async_trait]
impl ToolEvents for SessionOfRun {
    fn take(&self, emitted: ToolEventEmitted) -> bool {
        let Ok(place) = self.room.clone().try_acquire_owned() else {
            return false;
        };
        // If the session has stopped, the event is dropped.
        let _ = self.inbox.send(Input::ToolEmitted(emitted, place));
        true
    }

    async fn ask(&self, asked: ToolAsked) -> Result<ToolConfirmation, ToolError> {
        let (tool, answer) = oneshot::channel();
        let _ = self.inbox.send(Input::ToolAsks(asked, tool));
        answer.await.unwrap_or_else(|_| Err(stopped()))
    }

    fn end_session(&self, reason: String) -> Result<(), ToolError> {
        // The first of two reasons counts.
        let _ = self.ends_session.set(reason);
        Ok(())
    }

    async fn look_back(&self, turns: usize) -> Result<LookBack, ToolError> {
        let (reply, session) = oneshot::channel();
        let _ = self.inbox.send(Input::Session(reply));
        let session = session.await.map_err(|_| stopped())?;
        let said = history::last_said(&self.ledger, &session, turns).await;
        Ok(LookBack {
            turns: said.map_err(|error| ToolError::Other(error.to_string()))?,
            ..LookBack::of(&session)
        })
    }

    fn check_start(&self) -> Result<(), ToolError> {
        if self.guard.may_begin() {
            Ok(())
        } else {
            Err(stopped())
        }
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    async fn progress(&self, said: Value) {
        let Some(progress) = &self.progress else {
            return;
        };
        if progress.is_due(self.clock.now()) {
            progress.tell(self, said).await;
        }
    }
}

fn stopped() -> ToolError {
    ToolError::Cancelled("the session has stopped".to_owned())
}
