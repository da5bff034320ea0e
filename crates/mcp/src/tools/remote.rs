//! A server as its tools know it: connected, or to be connected again for the next call.

use std::sync::Arc;
use std::time::Duration;

use recount_session::secret::Unsaid;
use recount_session::{BODY_BYTES_MAX, Json};
use recount_tool::{ToolContext, ToolError};
use rmcp::ServiceError;
use rmcp::model::{CallToolRequestParams, CallToolResponse, RequestMetaObject, Task};
use serde_json::Value;
use tokio::sync::Mutex;

use super::connection::{Connection, Unlisted};
use crate::answers::raw::{self, Called};
use crate::answers::{result, unanswered, unreadable};
use crate::definitions::definition::{CONFIRMATION, Checked, Definition, checked};
use crate::settings::error::McpError;
use crate::settings::server::{McpServer, Way};
use crate::transport::http;
use crate::words::shown;

/// A server as its tools know it.
pub(crate) struct Remote {
    pub(crate) server: McpServer,
    pub(crate) name: String,
    unsaid: Unsaid,
    connection: Mutex<Option<Arc<Connection>>>,
}

/// How a server answers a call.
pub(crate) enum Answer {
    /// With its result.
    Result(Json),
    /// With a task that will have it.
    Task(Task),
}

impl Remote {
    /// Connects, and gives the tools that can be offered to a model.
    pub(crate) async fn connect(server: McpServer) -> Result<(Remote, Vec<Definition>), McpError> {
        let name = server.name();
        let problem = match &server.way {
            Way::Stdio { .. } => None,
            Way::Http { url } => http::check(&server, url).err(),
            Way::Broken { problem } => Some(problem.clone()),
        };
        if let Some(problem) = problem {
            return Err(McpError::Address {
                server: name,
                problem,
            });
        }
        let opened = Connection::open(&server).await;
        let (connection, listed) = opened.map_err(|reason| McpError::Connect {
            server: name.clone(),
            reason,
        })?;
        let Checked {
            definitions,
            mistakes,
        } = checked(&listed, &server);
        let unsaid = server.unsaid();
        for mistake in &mistakes {
            let told = unsaid.out_of(mistake.to_string());
            tracing::warn!(target: "recount::mcp", server = %name, "{told}");
        }
        let none_is_left = definitions.is_empty() && !mistakes.is_empty();
        if none_is_left || (server.is_strict && !mistakes.is_empty()) {
            connection.close().await;
            return Err(McpError::Tools {
                server: name,
                mistakes,
            });
        }
        let remote = Remote {
            unsaid: server.unsaid(),
            server,
            name,
            connection: Mutex::new(Some(Arc::new(connection))),
        };
        Ok((remote, definitions))
    }

    /// A result or an error as it may go on record.
    pub(crate) fn shown(&self, outcome: Result<Json, ToolError>) -> Result<Json, ToolError> {
        match outcome {
            Ok(text) if text.as_str().len() > RESULT_BYTES_MAX => {
                Err(ToolError::UnknownOutcome(format!(
                    "the tool has run, but its result of {} bytes is too large to be on record",
                    text.as_str().len()
                )))
            }
            Ok(text) => Ok(shown::without_in_text(&self.unsaid, text)),
            Err(error) => Err(self.error_without_secrets(error)),
        }
    }

    /// Words of ours that repeat what the server said, as they may go on record.
    pub(super) fn shown_value(&self, value: Value) -> Value {
        shown::without(&self.unsaid, value)
    }

    /// Calls a tool, connecting again first where the connection is lost.
    pub(crate) async fn call(
        &self,
        tool: &Definition,
        args: Value,
        context: Option<&ToolContext>,
    ) -> Result<Answer, ToolError> {
        match self.called(tool, args, context).await {
            Ok(Answer::Result(value)) => self.shown(Ok(value)).map(Answer::Result),
            Ok(Answer::Task(task)) => Ok(Answer::Task(task)),
            Err(error) => Err(self.error_without_secrets(error)),
        }
    }

    async fn called(
        &self,
        tool: &Definition,
        args: Value,
        context: Option<&ToolContext>,
    ) -> Result<Answer, ToolError> {
        let arguments = match args {
            Value::Object(arguments) => arguments,
            other => {
                return Err(ToolError::InvalidArgs(format!(
                    "expected a JSON object, found {other}"
                )));
            }
        };
        let mut connection = self.defining(tool).await?;
        let params = CallToolRequestParams::new(tool.own_name.clone());
        let mut params = params.with_arguments(arguments);
        params.meta = context.map(|it| meta(it, tool));
        let (mut rounds, mut is_anew) = (0, false);
        loop {
            let waiting = connection.asker().waits(context);
            let heard = (connection.asker(), connection.lost());
            let answer = raw::call(connection.peer(), heard, params.clone(), context).await;
            // What got no answer may still be at work, and ask.
            let is_over = answer.as_ref().err().is_none_or(|error| match error {
                ServiceError::McpError(error) => !unreadable::is_of_lost(error),
                error => rounds == 0 && unanswered::was_turned_away(error),
            });
            if is_over {
                waiting.answered();
            } else {
                drop(waiting);
            }
            let answer = match answer {
                Ok(answer) => answer,
                Err(error) => {
                    self.let_go_after(&connection, &error).await;
                    // What the server had before it asked is not sent as if it were new.
                    if rounds > 0 {
                        return Err(result::failed_again(error, &self.name));
                    }
                    // Nothing was called, and another session may do.
                    if unanswered::is_of_an_expired_session(&error) && !is_anew {
                        is_anew = true;
                        connection = self.defining(tool).await?;
                        continue;
                    }
                    return Err(result::failed(error, &self.name));
                }
            };
            let asked = match answer {
                Called::Told(told) => return told.map(Answer::Result),
                Called::Known(CallToolResponse::Complete(complete)) => {
                    return result::told(complete).map(Answer::Result);
                }
                Called::Known(CallToolResponse::Task(created)) => {
                    connection.asker().task_runs(&created.task.task_id);
                    return Ok(Answer::Task(created.task));
                }
                Called::Known(CallToolResponse::InputRequired(asked)) if rounds < ROUNDS_MAX => {
                    asked
                }
                Called::Known(CallToolResponse::InputRequired(_)) => {
                    return Err(ToolError::ExecutionFailed(format!(
                        "the MCP server {:?} asked more than {ROUNDS_MAX} times and gave no result of a call",
                        self.name
                    )));
                }
                _ => {
                    let error = ServiceError::UnexpectedResponse;
                    return Err(result::failed(error, &self.name));
                }
            };
            rounds += 1;
            params.input_responses = Some(
                connection
                    .asker()
                    .answers(context, asked.input_requests)
                    .await,
            );
            params.request_state = asked.request_state;
        }
    }

    /// A connection to a server that says of the tool what it said.
    async fn defining(&self, tool: &Definition) -> Result<Arc<Connection>, ToolError> {
        let connection = self.connected().await?;
        match connection.still_defines(tool).await {
            Ok(true) => Ok(connection),
            Ok(false) => Err(ToolError::NotAvailable(format!(
                "the MCP server {:?} defines the tool {:?} otherwise than when its tools were listed; \
                 it is not called until they are listed again",
                self.name, tool.name
            ))),
            // Nothing has been called yet, so nothing is unknown.
            Err(why) => {
                if let Unlisted::Unanswered(error) = &why {
                    self.let_go_after(&connection, error).await;
                }
                Err(result::not_there(&self.name, &why.to_string()))
            }
        }
    }

    /// Lets go of a connection that is of no use after this, so that the next call makes another;
    /// whoever still waits on it keeps it.
    pub(super) async fn let_go_after(&self, connection: &Arc<Connection>, error: &ServiceError) {
        if !unanswered::ends_the_connection(error) {
            return;
        }
        let mut current = self.connection.lock().await;
        if current
            .as_ref()
            .is_some_and(|it| Arc::ptr_eq(it, connection))
        {
            *current = None;
        }
    }

    /// The connection, made again where it is lost: a few tries, with waits that double.
    pub(super) async fn connected(&self) -> Result<Arc<Connection>, ToolError> {
        // Whoever else calls meanwhile waits for the same connection.
        let mut current = self.connection.lock().await;
        if let Some(connection) = current.as_ref() {
            if !connection.is_lost() {
                return Ok(connection.clone());
            }
            let lost = current.take();
            if let Some(lost) = lost {
                lost.close().await;
            }
        }
        let mut wait = FIRST_WAIT;
        let mut reason = String::new();
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                tokio::time::sleep(wait).await;
                wait *= 2;
            }
            match Connection::open(&self.server).await {
                Ok((connection, _)) => {
                    tracing::info!(target: "recount::mcp", server = %self.name, "connected again");
                    let connection = Arc::new(connection);
                    *current = Some(connection.clone());
                    return Ok(connection);
                }
                Err(why) => reason = why,
            }
        }
        Err(result::not_there(&self.name, &reason))
    }

    /// Hangs up; the next call connects again.
    pub(super) async fn close(&self) {
        let connection = self.connection.lock().await.take();
        if let Some(connection) = connection {
            connection.close().await;
        }
    }

    /// A server may repeat what it was sent; none of it goes on record.
    pub(super) fn error_without_secrets(&self, error: ToolError) -> ToolError {
        let clean = |text: String| self.unsaid.out_of(text);
        match error {
            ToolError::ExecutionFailed(text) => ToolError::ExecutionFailed(clean(text)),
            ToolError::InvalidArgs(text) => ToolError::InvalidArgs(clean(text)),
            ToolError::NotAvailable(text) => ToolError::NotAvailable(clean(text)),
            ToolError::UnknownOutcome(text) => ToolError::UnknownOutcome(clean(text)),
            other => other,
        }
    }
}

/// The call's own key, by which a server that looks at it can tell a call that is made again, and
/// what a person gave with a yes where the tool looks at that.
fn meta(context: &ToolContext, tool: &Definition) -> RequestMetaObject {
    let mut meta = RequestMetaObject::new();
    if let Some(given) = context.confirmation().filter(|_| tool.takes_confirmation) {
        meta.insert(CONFIRMATION.to_owned(), given.for_program());
    }
    meta.insert(KEY.to_owned(), context.idempotency_key().into());
    meta
}

const KEY: &str = "recount/idempotencyKey";
const ATTEMPTS: u32 = 3;
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// The largest result that fits on record, in bytes, with room for the members around it.
const RESULT_BYTES_MAX: usize = BODY_BYTES_MAX - (60 << 10);
/// How often a server may answer one call with questions.
const ROUNDS_MAX: u32 = 10;
