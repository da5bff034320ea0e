//! The progress reports of a run: recorded at intervals, and sent to the model if its policy says
//! so.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use super::session_of_run::SessionOfRun;
use super::yields::recorded;
use crate::engine::telling::outcomes::Telling;
use crate::session::{Json, PROGRESS_EVENT, Progress, Timestamp, ToolEventEmitted, unfit};
use crate::tool::{State, ToolEvents};

/// The reports of one run.
pub(in crate::engine) struct ProgressReporter {
    pub(in crate::engine) effect: Progress,
    /// False for a call that no model made.
    pub(in crate::engine) is_for_model: bool,
    pub(in crate::engine) every: Duration,
    pub(in crate::engine) telling: Arc<Telling>,
    pub(in crate::engine) state: State,
    pub(in crate::engine) last: Mutex<Option<Timestamp>>,
}

impl ProgressReporter {
    /// True if enough time has passed since the last recorded report.
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.is_none_or(|last| now >= last.after(self.every));
        if is_due {
            *last = Some(now);
        }
        is_due
    }

    /// Records a report. It is an event of the tool if no model made the call, or if the policy
    /// does not send it.
    pub(in crate::engine) async fn tell(&self, run: &SessionOfRun, said: Value) {
        let tells = match self.effect {
            Progress::ExtendsTimeout => false,
            Progress::Told => self.is_for_model,
        };
        if tells {
            let mut news = json!({ "status": "in_progress" });
            if let (Some(news), Value::Object(said)) = (news.as_object_mut(), said) {
                news.extend(said);
            }
            let session = (run.inbox.clone(), run.guard.clone());
            let telling = self.telling.clone();
            // A report too large for a record is dropped, because it must not fail the call.
            if unfit(&telling.yielded(telling.chunk(news.clone())).into()).is_some() {
                return;
            }
            // If the session has stopped, the report is dropped.
            let _ = recorded(session, telling, news, self.state.clone()).await;
            return;
        }
        let (call, attempt) = self.telling.run();
        let emitted = ToolEventEmitted {
            call,
            attempt,
            name: PROGRESS_EVENT.to_owned(),
            data: Json::of(&said),
        };
        if unfit(&emitted.clone().into()).is_none() {
            run.take(emitted);
        }
    }
}
