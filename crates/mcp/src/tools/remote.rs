//! The client of one server, which its tools share: it connects again for the next call if
//! necessary.

use std::sync::Arc;
use std::time::Duration;

use recount_session::secret::Unsaid;
use recount_session::{BODY_BYTES_MAX, Json};
use recount_tool::{ToolContext, ToolError};
use rmcp::ServiceError;
use rmcp::model::{CallToolRequestParams, CallToolResponse, RequestMetaObject, Task};
use serde_json::Value;
use tokio::sync::{Mutex, watch};

use super::connection::{Connection, Unlisted};
use crate::answers::raw::{self, Called};
use crate::answers::{result, unanswered, unreadable};
use crate::definitions::definition::{CONFIRMATION, Checked, Definition, checked};
use crate::settings::error::McpError;
use crate::settings::server::{Endpoint, McpServer};
use crate::transport::http;
use crate::words::redacted;

/// The client of one server, which its tools share.
pub(crate) struct Remote {
    pub(crate) server: McpServer,
    pub(crate) name: String,
    unsaid: Unsaid,
    connection: Mutex<Option<Arc<Connection>>>,
    /// The number of times that the server reported another list, or was connected again.
    pub(super) reports: Arc<watch::Sender<u64>>,
}

/// The answer of a server to a call.
pub(crate) enum Answer {
    /// The result.
    Result(Json),
    /// A task that will have the result.
    Task(Task),
}

impl Remote {
    /// Connects and returns the tools that can be offered to a model.
    pub(crate) async fn connect(server: McpServer) -> Result<(Remote, Vec<Definition>), McpError> {
        let name = server.name();
        let problem = match &server.endpoint {
            Endpoint::Stdio { .. } => None,
            Endpoint::Http { url } => http::check(&server, url).err(),
            Endpoint::Broken { problem } => Some(problem.clone()),
        };
        if let Some(problem) = problem {
            return Err(McpError::Address {
                server: name,
                problem,
            });
        }
        let reports = Arc::new(watch::Sender::new(0));
        let opened = Connection::open(&server, &reports).await;
        let (connection, listed) = opened.map_err(|reason| McpError::Connect {
            server: name.clone(),
            reason,
        })?;
        let definitions = match usable(&listed, &server, &name) {
            Ok(definitions) => definitions,
            Err(error) => {
                connection.close().await;
                return Err(error);
            }
        };
        let remote = Remote {
            unsaid: server.unsaid(),
            server,
            name,
            connection: Mutex::new(Some(Arc::new(connection))),
            reports,
        };
        Ok((remote, definitions))
    }

    /// Lists the tools again and returns those that can be offered to a model.
    pub(super) async fn listed_again(&self) -> Result<Vec<Definition>, McpError> {
        let failed = |reason: String| McpError::Connect {
            server: self.name.clone(),
            reason: self.unsaid.out_of(reason),
        };
        let connection = self.connected().await;
        let connection = connection.map_err(|error| failed(error.to_string()))?;
        let listed = connection.listed_again().await;
        let listed = listed.map_err(|why| failed(why.to_string()))?;
        usable(&listed, &self.server, &self.name)
    }

    /// Prepares a result or an error for the record: removes secrets, rejects results that are too
    /// large.
    pub(crate) fn redacted(&self, outcome: Result<Json, ToolError>) -> Result<Json, ToolError> {
        match outcome {
            Ok(text) if text.as_str().len() > RESULT_BYTES_MAX => {
                Err(ToolError::UnknownOutcome(format!(
                    "the tool has run, but its result of {} bytes is too large to be on record",
                    text.as_str().len()
                )))
            }
            Ok(text) => Ok(redacted::without_in_text(&self.unsaid, text)),
            Err(error) => Err(self.error_without_secrets(error)),
        }
    }

    /// Removes secrets from a value that quotes the server.
    pub(super) fn redacted_value(&self, value: Value) -> Value {
        redacted::without(&self.unsaid, value)
    }

    /// Calls a tool, after connecting again if the connection is lost.
    pub(crate) async fn call(
        &self,
        tool: &Definition,
        args: Value,
        context: Option<&ToolContext>,
    ) -> Result<Answer, ToolError> {
        match self.called(tool, args, context).await {
            Ok(Answer::Result(value)) => self.redacted(Ok(value)).map(Answer::Result),
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
            // Connecting may have taken long, and so may the answer to a question.
            if let Some(context) = context {
                context.check_start()?;
            }
            let waiting = connection.asker().register_call(context);
            let handlers = (connection.asker(), connection.lost());
            let answer = raw::call(connection.peer(), handlers, params.clone(), context).await;
            // The server may still work on an unanswered call, and ask.
            let is_over = answer.as_ref().err().is_none_or(|error| match error {
                ServiceError::McpError(error) => !unreadable::is_of_lost(error),
                error => rounds == 0 && unanswered::was_not_carried_out(error),
            });
            if is_over {
                waiting.answered();
            } else {
                drop(waiting);
            }
            let answer = match answer {
                Ok(answer) => answer,
                Err(error) => {
                    self.drop_if_unusable(&connection, &error).await;
                    // The server has received the call, so it must not be sent again as a new one.
                    if rounds > 0 {
                        return Err(result::failed_after_questions(error, &self.name));
                    }
                    // The call was not carried out, so a new session is tried once.
                    if unanswered::is_of_an_expired_session(&error) && !is_anew {
                        is_anew = true;
                        connection = self.defining(tool).await?;
                        continue;
                    }
                    return Err(result::failed(error, &self.name));
                }
            };
            let asked = match answer {
                Called::Other(outcome) => return outcome.map(Answer::Result),
                Called::Known(CallToolResponse::Complete(complete)) => {
                    return result::outcome(complete).map(Answer::Result);
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

    /// Returns a connection to a server whose definition of the tool is unchanged.
    async fn defining(&self, tool: &Definition) -> Result<Arc<Connection>, ToolError> {
        let connection = self.connected().await?;
        match connection.still_defines(tool).await {
            Ok(true) => Ok(connection),
            Ok(false) => Err(ToolError::NotAvailable(format!(
                "the MCP server {:?} defines the tool {:?} otherwise than when its tools were listed; \
                 it is not called until they are listed again",
                self.name, tool.name
            ))),
            // The call was not sent yet, so its outcome is not in doubt.
            Err(why) => {
                if let Unlisted::Unanswered(error) = &why {
                    self.drop_if_unusable(&connection, error).await;
                }
                Err(result::not_connected(&self.name, &why.to_string()))
            }
        }
    }

    /// Drops the connection if it is unusable after this error, so that the next call connects
    /// again. Pending requests keep their own reference.
    pub(super) async fn drop_if_unusable(
        &self,
        connection: &Arc<Connection>,
        error: &ServiceError,
    ) {
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

    /// Returns the connection, renewed if it is lost: a few attempts with an exponential backoff.
    pub(super) async fn connected(&self) -> Result<Arc<Connection>, ToolError> {
        // Concurrent calls wait for the same connection.
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
            match Connection::open(&self.server, &self.reports).await {
                Ok((connection, _)) => {
                    // The list may be another one by now.
                    self.reports.send_modify(|reports| *reports += 1);
                    tracing::info!(target: "recount::mcp", server = %self.name, "connected again");
                    let connection = Arc::new(connection);
                    *current = Some(connection.clone());
                    return Ok(connection);
                }
                Err(why) => reason = why,
            }
        }
        Err(result::not_connected(&self.name, &reason))
    }

    /// Closes the connection; the next call connects again.
    pub(super) async fn close(&self) {
        let connection = self.connection.lock().await.take();
        if let Some(connection) = connection {
            connection.close().await;
        }
    }

    /// Removes secrets from an error, because a server may quote them.
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

/// Returns the tools of a list that can be offered to a model. Logs the mistakes in the others.
fn usable(listed: &[Value], server: &McpServer, name: &str) -> Result<Vec<Definition>, McpError> {
    let Checked {
        definitions,
        mistakes,
    } = checked(listed, server);
    let unsaid = server.unsaid();
    for mistake in &mistakes {
        let text = unsaid.out_of(mistake.to_string());
        tracing::warn!(target: "recount::mcp", server = %name, "{text}");
    }
    let none_is_left = definitions.is_empty() && !mistakes.is_empty();
    if none_is_left || (server.is_strict && !mistakes.is_empty()) {
        return Err(McpError::Tools {
            server: name.to_owned(),
            mistakes,
        });
    }
    Ok(definitions)
}

/// Returns the metadata of a call: its idempotency key, with which a server can detect a repeated
/// call, and the approval's payload if the tool reads it.
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
/// The maximum size of a result, in bytes: the record limit less room for the members around it.
const RESULT_BYTES_MAX: usize = BODY_BYTES_MAX - (60 << 10);
/// The maximum number of answers with questions to one call.
const ROUNDS_MAX: u32 = 10;
