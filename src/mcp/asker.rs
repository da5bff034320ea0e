//! What a server may ask of its client: a question to a person, during a call.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, ErrorData, FormElicitationCapability, Implementation, InputRequest,
    InputRequests, InputResponses, JsonObject, ProtocolVersion, TASKS_EXTENSION_ID,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, RoleClient};
use serde_json::{Value, json};

use crate::tool::{Ask, ToolContext, ToolError};

/// Answers a server: its questions by asking a person through the call for which it asks.
#[derive(Clone, Default)]
pub(super) struct Asker {
    server: String,
    calls: Arc<Calls>,
    /// The server said that its tools are others now.
    changed: Arc<AtomicBool>,
}

/// The calls that wait for the server.
#[derive(Default)]
struct Calls {
    next: AtomicU64,
    waiting: Mutex<BTreeMap<u64, ToolContext>>,
}

impl Calls {
    fn waiting(&self) -> MutexGuard<'_, BTreeMap<u64, ToolContext>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call waits for the server as long as this is there.
pub(super) struct Waiting {
    calls: Arc<Calls>,
    number: u64,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.calls.waiting().remove(&self.number);
    }
}

impl Asker {
    pub(super) fn new(server: String) -> Asker {
        Asker {
            server,
            ..Asker::default()
        }
    }

    /// Notes that a call waits for the server from now on.
    pub(super) fn waits(&self, context: &ToolContext) -> Waiting {
        let number = self.calls.next.fetch_add(1, Ordering::Relaxed);
        self.calls.waiting().insert(number, context.clone());
        Waiting {
            calls: self.calls.clone(),
            number,
        }
    }

    /// Whether the server has said since the last time that its tools are others.
    pub(super) fn take_changed(&self) -> bool {
        self.changed.swap(false, Ordering::AcqRel)
    }

    /// The call for which the server asks: over one pipe it does not say which, so there must be but one.
    fn only_call(&self) -> Option<ToolContext> {
        let waiting = self.calls.waiting();
        let mut calls = waiting.values();
        calls.next().filter(|_| calls.next().is_none()).cloned()
    }

    /// Asks a person through a call. Where nobody can be asked, the answer is no.
    pub(super) async fn ask(
        &self,
        context: &ToolContext,
        asked: ElicitRequestParams,
    ) -> ElicitResult {
        let ElicitRequestParams::FormElicitationParams {
            message,
            requested_schema,
            ..
        } = asked
        else {
            // Nobody is sent to a page that a foreign server names.
            return ElicitResult::new(ElicitationAction::Decline);
        };
        let hint = format!("The MCP server {:?} asks: {message}", self.server);
        let mut ask = Ask::new(hint, Value::Null);
        if let Ok(schema) = serde_json::to_value(&requested_schema) {
            ask = ask.payload_schema(schema);
        }
        match context.request_confirmation(ask).await {
            Ok(answer) if answer.confirmed => ElicitResult::new(ElicitationAction::Accept)
                .with_content(answer.payload.unwrap_or_else(|| json!({}))),
            Ok(_) => ElicitResult::new(ElicitationAction::Decline),
            Err(ToolError::Cancelled(_)) => ElicitResult::new(ElicitationAction::Cancel),
            Err(error) => {
                tracing::info!(target: "recount::mcp", server = %self.server, %error, "a question of the server was declined");
                ElicitResult::new(ElicitationAction::Decline)
            }
        }
    }

    /// Answers the questions with which a server has answered a call; what is no question gets no answer.
    pub(super) async fn answers(
        &self,
        context: Option<&ToolContext>,
        asked: Option<InputRequests>,
    ) -> InputResponses {
        let mut answers = InputResponses::new();
        for (key, request) in asked.unwrap_or_default() {
            let InputRequest::Elicitation(request) = request else {
                continue;
            };
            let answer = match context {
                Some(context) => self.ask(context, request.params).await,
                None => ElicitResult::new(ElicitationAction::Decline),
            };
            answers.insert(key, serde_json::to_value(answer).unwrap_or_default());
        }
        answers
    }
}

impl ClientHandler for Asker {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        let form = FormElicitationCapability::new();
        capabilities.elicitation = Some(ElicitationCapability::new().with_form(form));
        let tasks = [(TASKS_EXTENSION_ID.to_owned(), JsonObject::new())];
        capabilities.extensions = Some(tasks.into_iter().collect());
        let us = Implementation::new("recount", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, us)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let Some(call) = self.only_call() else {
            tracing::info!(target: "recount::mcp", server = %self.server, "a question of the server was declined: it is not known for which call it asks");
            return Ok(ElicitResult::new(ElicitationAction::Decline));
        };
        Ok(self.ask(&call, request).await)
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.store(true, Ordering::Release);
    }
}
