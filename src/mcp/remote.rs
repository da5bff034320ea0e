//! A server as its tools know it: connected, or to be connected again for the next call.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{CallToolRequestParams, CallToolResponse, JsonObject, RequestMetaObject, Task};
use serde_json::Value;
use tokio::sync::Mutex;

use super::connection::Connection;
use super::definition::{Definition, mistakes};
use super::error::McpError;
use super::server::{McpServer, Way};
use super::{causes, http, result};
use crate::live::secret::Unsaid;
use crate::tool::{ToolContext, ToolError};

/// A server as its tools know it.
pub(super) struct Remote {
    pub(super) server: McpServer,
    pub(super) name: String,
    unsaid: Unsaid,
    connection: Mutex<Option<Arc<Connection>>>,
}

/// How a server answers a call.
pub(super) enum Answer {
    /// With its result.
    Result(Value),
    /// With a task that will have it.
    Task(Task),
}

impl Remote {
    /// Connects, and gives the tools that can be offered to a model.
    pub(super) async fn connect(server: McpServer) -> Result<(Remote, Vec<Definition>), McpError> {
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
        let (connection, definitions) = opened.map_err(|reason| McpError::Connect {
            server: name.clone(),
            reason,
        })?;
        let mistakes = mistakes(&definitions);
        if !mistakes.is_empty() {
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
    pub(super) fn shown(&self, outcome: Result<Value, ToolError>) -> Result<Value, ToolError> {
        match outcome {
            Ok(value) => Ok(self.without_secrets(value)),
            Err(error) => Err(self.error_without_secrets(error)),
        }
    }

    /// Calls a tool, connecting again first where the connection is lost.
    pub(super) async fn call(
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
        let connection = self.connected().await?;
        let defined = connection.still_defines(tool).await;
        // Nothing has been called yet, so nothing is unknown.
        let defined = defined.map_err(|error| self.not_there(&causes::of_request(&error)))?;
        if !defined {
            return Err(ToolError::NotAvailable(format!(
                "the MCP server {:?} defines the tool {:?} otherwise than when its tools were listed; \
                 it is not called until they are listed again",
                self.name, tool.name
            )));
        }
        let _waiting = context.map(|it| connection.asker().waits(it));
        let params = CallToolRequestParams::new(tool.own_name.clone());
        let mut params = params.with_arguments(arguments);
        params.meta = context.map(key);
        let mut rounds = 0;
        loop {
            let answer = connection.peer().call_tool_once(params.clone()).await;
            let asked = match answer.map_err(|error| result::failed(error, &self.name))? {
                CallToolResponse::Complete(complete) => {
                    return result::told(complete).map(Answer::Result);
                }
                CallToolResponse::Task(created) => return Ok(Answer::Task(created.task)),
                CallToolResponse::InputRequired(asked) if rounds < ROUNDS_MAX => asked,
                _ => {
                    return Err(result::failed(
                        rmcp::ServiceError::UnexpectedResponse,
                        &self.name,
                    ));
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
        Err(self.not_there(&reason))
    }

    fn not_there(&self, reason: &str) -> ToolError {
        ToolError::NotAvailable(format!(
            "the MCP server {:?} is not there: {reason}",
            self.name
        ))
    }

    /// Hangs up; the next call connects again.
    pub(super) async fn close(&self) {
        let connection = self.connection.lock().await.take();
        if let Some(connection) = connection {
            connection.close().await;
        }
    }

    /// A server may repeat what it was sent; none of it goes on record.
    fn without_secrets(&self, value: Value) -> Value {
        match value {
            Value::String(text) => self.unsaid.out_of(text).into(),
            Value::Array(items) => items
                .into_iter()
                .map(|it| self.without_secrets(it))
                .collect(),
            Value::Object(fields) => {
                let clean = |(key, value)| (self.unsaid.out_of(key), self.without_secrets(value));
                Value::Object(fields.into_iter().map(clean).collect::<JsonObject>())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value,
        }
    }

    fn error_without_secrets(&self, error: ToolError) -> ToolError {
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

/// The call's own key, by which a server that looks at it can tell a call that is made again.
fn key(context: &ToolContext) -> RequestMetaObject {
    let mut meta = RequestMetaObject::new();
    meta.insert(KEY.to_owned(), context.idempotency_key().into());
    meta
}

const KEY: &str = "recount/idempotencyKey";
const ATTEMPTS: u32 = 3;
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// How often a server may answer one call with questions.
const ROUNDS_MAX: u32 = 10;
