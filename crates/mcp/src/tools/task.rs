//! Tasks: calls that a server answers later, by an id that outlives the connection and this
//! process.

use std::time::Duration;

use recount_session::Json;
use recount_tool::ToolError;
use rmcp::ServiceError;
use rmcp::model::{
    CancelTaskParams, GetTaskParams, InputRequests, Task, TaskPayload, UpdateTaskParams,
};
use serde_json::{Value, json};

use super::remote::Remote;
use crate::answers::{raw, result};
use crate::asking::asker::Followed;

/// Returns the interim response about a task: `{"status": "working", "task": id}`, with the
/// server's `message` if there is one.
pub(super) fn interim(task: &Task) -> Value {
    let mut interim = json!({ "status": "working", "task": task.task_id });
    if let (Some(message), Some(fields)) = (&task.status_message, interim.as_object_mut()) {
        fields.insert("message".to_owned(), message.as_str().into());
    }
    interim
}

/// Returns the state for following a task: `{"task": id}`.
pub(crate) fn state(task: &Task) -> Value {
    json!({ "task": task.task_id })
}

/// Returns the id of a task from its state, or from the interim response, which older records use
/// as state.
pub(super) fn id_in(state: &Value) -> Option<&str> {
    let output = state.get("output").unwrap_or(state);
    output.get("task")?.as_str()
}

/// The status of a task.
enum Asked {
    Ended(Result<Json, ToolError>),
    Runs(Duration),
}

impl Remote {
    /// Polls a task until it has ended, even while the server is unreachable for some time.
    pub(super) async fn outcome_of(&self, id: &str) -> Result<Json, ToolError> {
        let mut failed = 0;
        let mut wait = FIRST_WAIT;
        let mut followed = Followed::new(id);
        loop {
            let next = match self.ask_after(id, &mut followed).await {
                Ok(Asked::Ended(outcome)) => return self.shown(outcome),
                Ok(Asked::Runs(next)) => {
                    (failed, wait) = (0, FIRST_WAIT);
                    next
                }
                Err(error) => {
                    failed += 1;
                    if failed > TRIES_MAX {
                        let what = format!("its task {id:?} cannot be asked after: {error}");
                        return self.shown(Err(ToolError::UnknownOutcome(what)));
                    }
                    wait = (wait * 2).min(LONGEST_WAIT);
                    wait
                }
            };
            tokio::time::sleep(next).await;
        }
    }

    /// Polls a task once. An error is temporary: the next attempt may succeed.
    async fn ask_after(&self, id: &str, followed: &mut Followed) -> Result<Asked, ToolError> {
        let connection = self.connected().await?;
        followed.on(connection.asker());
        let asked = connection.peer().get_task(GetTaskParams::new(id));
        let found = match self.in_time(asked).await {
            Ok(found) => found.task,
            Err(ServiceError::McpError(error)) => {
                let what = format!(
                    "the server does not tell of its task {id:?}: {}",
                    error.message
                );
                return Ok(Asked::Ended(Err(ToolError::UnknownOutcome(what))));
            }
            Err(lost) => {
                self.drop_if_unusable(&connection, &lost).await;
                return Err(result::failed(lost, &self.name));
            }
        };
        let wait = found.task.poll_interval_ms.map(Duration::from_millis);
        let wait = wait
            .unwrap_or(USUAL_WAIT)
            .clamp(SHORTEST_WAIT, LONGEST_WAIT);
        Ok(match found.payload {
            TaskPayload::Completed { result } => {
                let said = Value::Object(result);
                Asked::Ended(match serde_json::from_value(said.clone()) {
                    Ok(known) => result::outcome(known),
                    Err(_) => raw::outcome(said),
                })
            }
            TaskPayload::Failed { error } => {
                let message = error.get("message").and_then(Value::as_str);
                let message = message.unwrap_or("its task failed and it does not say why");
                Asked::Ended(Err(ToolError::ExecutionFailed(message.to_owned())))
            }
            TaskPayload::Cancelled => Asked::Ended(Err(ToolError::Cancelled(
                "the server cancelled its task".to_owned(),
            ))),
            TaskPayload::InputRequired { input_requests } => {
                self.decline(id, input_requests).await?;
                Asked::Runs(wait)
            }
            _ => Asked::Runs(wait),
        })
    }

    /// Sends a cancellation of a task. The server decides whether the task stops.
    pub(super) async fn cancel(&self, id: &str) {
        let cancelling = async {
            let connection = self.connected().await?;
            let cancelling = connection.peer().cancel_task(CancelTaskParams::new(id));
            let cancelling = self.in_time(cancelling).await;
            if cancelling.is_ok() {
                connection.asker().task_ended(id);
            }
            cancelling.map_err(|error| result::failed(error, &self.name))
        };
        if let Err(error) = cancelling
            .await
            .map_err(|error| self.error_without_secrets(error))
        {
            tracing::info!(target: "recount::mcp", server = %self.name, %error, "a task was not cancelled");
        }
    }

    /// Waits for an answer about a task, with the time limit of a call.
    async fn in_time<T>(
        &self,
        asked: impl Future<Output = Result<T, ServiceError>>,
    ) -> Result<T, ServiceError> {
        let timeout = self.server.timeout.unwrap_or(self.server.connects_within);
        let answered = tokio::time::timeout(timeout, asked).await;
        answered.unwrap_or(Err(ServiceError::Timeout { timeout }))
    }

    /// Declines a task's questions: its call is paused, so there is no run through which to ask.
    async fn decline(&self, id: &str, asked: InputRequests) -> Result<(), ToolError> {
        let connection = self.connected().await?;
        let answers = connection.asker().answers(None, Some(asked)).await;
        let update = UpdateTaskParams::new(id, answers);
        let updated = self.in_time(connection.peer().update_task(update)).await;
        updated.map_err(|error| result::failed(error, &self.name))
    }
}

const FIRST_WAIT: Duration = Duration::from_millis(250);
const USUAL_WAIT: Duration = Duration::from_secs(1);
const SHORTEST_WAIT: Duration = Duration::from_millis(10);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// The maximum number of consecutive failed polls; about five minutes.
const TRIES_MAX: u32 = 15;
