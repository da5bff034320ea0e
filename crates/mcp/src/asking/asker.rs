//! Requests of a server to its client during a call: questions to a person.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use recount_session::secret::Unsaid;
use recount_tool::{Ask, ToolContext, ToolError};
use rmcp::model::{
    ClientCapabilities, ClientConfig, CustomRequest, CustomResult, ElicitRequestParams,
    ElicitResult, ElicitationAction, ElicitationCapability, ErrorCode, ErrorData,
    FormElicitationCapability, Implementation, InputRequest, InputRequests, InputResponses,
    JsonObject, ProgressNotificationParam, ProgressToken, ProtocolVersion, TASKS_EXTENSION_ID,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, RoleClient};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::progress;
use crate::words::redacted;

/// The handler of a server's requests, which asks an approver through the call that waits.
///
/// A question does not name its call. So it is asked only if exactly one call can be meant. That
/// requires a single waiting call, no abandoned call that the server may still work on, and no
/// running task. Otherwise the question is declined.
#[derive(Clone, Default)]
pub(crate) struct Asker {
    server: String,
    unsaid: Unsaid,
    waiting: Arc<Mutex<ServerWork>>,
    /// Set when the server reports a change of its tools.
    changed: Arc<AtomicBool>,
    /// The number of such reports of the server, over all connections.
    reports: Option<Arc<watch::Sender<u64>>>,
}

/// The work that the server may be doing on one connection.
#[derive(Default)]
struct ServerWork {
    next: u64,
    /// The waiting calls. `None` is an abandoned call, through which no question can be asked.
    calls: BTreeMap<u64, Option<ToolContext>>,
    /// The tasks, whose calls do not wait for the server.
    tasks: BTreeSet<String>,
    /// The calls for progress reports, by the token of the request.
    reporting: HashMap<ProgressToken, ToolContext>,
}

/// A guard that keeps the progress reports of a call registered.
pub(crate) struct Reporting {
    asker: Asker,
    token: ProgressToken,
}

impl Drop for Reporting {
    fn drop(&mut self) {
        self.asker.work().reporting.remove(&self.token);
    }
}

/// A guard for a call that waits for the server. Dropping it without an answer marks the call as
/// abandoned.
pub(crate) struct Waiting {
    asker: Asker,
    number: u64,
    is_answered: bool,
}

impl Waiting {
    /// Marks the call as answered: the server no longer works on it.
    pub(crate) fn answered(mut self) {
        self.is_answered = true;
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut work = self.asker.work();
        if self.is_answered {
            work.calls.remove(&self.number);
        } else {
            work.calls.insert(self.number, None);
        }
    }
}

/// A guard for a followed task. It counts as running on the connection that last asked for its
/// status.
pub(crate) struct Followed {
    id: String,
    asker: Option<Asker>,
}

impl Followed {
    pub(crate) fn new(id: &str) -> Followed {
        let id = id.to_owned();
        Followed { id, asker: None }
    }

    /// Moves the task to this connection.
    pub(crate) fn on(&mut self, asker: &Asker) {
        let is_same = |it: &Asker| Arc::ptr_eq(&it.waiting, &asker.waiting);
        if self.asker.as_ref().is_some_and(is_same) {
            return;
        }
        asker.task_runs(&self.id);
        if let Some(before) = self.asker.replace(asker.clone()) {
            before.task_ended(&self.id);
        }
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        if let Some(asker) = &self.asker {
            asker.task_ended(&self.id);
        }
    }
}

/// A reported change of the tools. It stays pending until it is handled.
pub(crate) struct Change(Option<Arc<AtomicBool>>);

impl Change {
    /// Marks the change as handled: the current tools are known.
    pub(crate) fn handled(mut self) {
        self.0 = None;
    }
}

impl Drop for Change {
    fn drop(&mut self) {
        if let Some(changed) = &self.0 {
            changed.store(true, Ordering::Release);
        }
    }
}

impl Asker {
    pub(crate) fn new(server: String, unsaid: Unsaid, reports: Arc<watch::Sender<u64>>) -> Asker {
        Asker {
            server,
            unsaid,
            reports: Some(reports),
            ..Asker::default()
        }
    }

    fn work(&self) -> MutexGuard<'_, ServerWork> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a call that waits for the server.
    pub(crate) fn register_call(&self, context: Option<&ToolContext>) -> Waiting {
        let mut work = self.work();
        let number = work.next;
        work.next += 1;
        work.calls.insert(number, context.cloned());
        Waiting {
            asker: self.clone(),
            number,
            is_answered: false,
        }
    }

    /// Forwards progress reports of a request to its call.
    pub(crate) fn register_progress(
        &self,
        token: ProgressToken,
        context: &ToolContext,
    ) -> Reporting {
        let mut work = self.work();
        work.reporting.insert(token.clone(), context.clone());
        let asker = self.clone();
        Reporting { asker, token }
    }

    /// Registers a task whose call does not wait.
    pub(crate) fn task_runs(&self, id: &str) {
        self.work().tasks.insert(id.to_owned());
    }

    /// Removes a task that has ended.
    pub(crate) fn task_ended(&self, id: &str) {
        self.work().tasks.remove(id);
    }

    /// Takes the reported change of the tools, if there is an unhandled one.
    pub(crate) fn take_change(&self) -> Option<Change> {
        let said = self.changed.swap(false, Ordering::AcqRel);
        said.then(|| Change(Some(self.changed.clone())))
    }

    /// Returns the only call for which the server can be asking.
    fn only_call(&self) -> Option<ToolContext> {
        let work = self.work();
        let mut calls = work.calls.values();
        let only = calls.next().filter(|_| calls.next().is_none())?;
        only.clone().filter(|_| work.tasks.is_empty())
    }

    /// Asks an approver through a call. Declines if there is no one to ask.
    pub(crate) async fn ask(
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
            // Declined: a foreign server must not send a person to a page of its choice.
            return ElicitResult::new(ElicitationAction::Decline);
        };
        let message = self.unsaid.out_of(message);
        let hint = format!("The MCP server {:?} asks: {message}", self.server);
        let mut ask = Ask::new(hint, Value::Null);
        if let Ok(schema) = serde_json::to_value(&requested_schema) {
            ask = ask.payload_schema(redacted::without(&self.unsaid, schema));
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

    /// Answers the questions in a server's response to a call. Other requests get no answer.
    pub(crate) async fn answers(
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
            tracing::info!(target: "recount::mcp", server = %self.server, "a question of the server was declined: it cannot be told for which call it asks");
            return Ok(ElicitResult::new(ElicitationAction::Decline));
        };
        Ok(self.ask(&call, request).await)
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method != UNREADABLE_REQUEST {
            let code = ErrorCode::METHOD_NOT_FOUND;
            return Err(ErrorData::new(code, request.method, None));
        }
        tracing::info!(
            target: "recount::mcp",
            server = %self.server,
            "a request of the server was refused: it cannot be read"
        );
        let reason = request
            .params
            .as_ref()
            .and_then(|it| it.get("reason")?.as_str());
        let message = format!("the request cannot be read: {}", reason.unwrap_or_default());
        Err(ErrorData::invalid_request(message, None))
    }

    async fn on_progress(
        &self,
        said: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let call = self.work().reporting.get(&said.progress_token).cloned();
        if let Some(call) = call {
            call.progress(progress::report(&said, &self.unsaid)).await;
        }
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.store(true, Ordering::Release);
        if let Some(reports) = &self.reports {
            reports.send_modify(|reports| *reports += 1);
        }
    }
}

/// The method of the request that replaces an unreadable request of the server.
pub(crate) const UNREADABLE_REQUEST: &str = "recount/unreadable";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn followed_task_runs_on_its_last_connection() {
        let runs = |asker: &Asker| asker.work().tasks.contains("t1");
        let (first, second) = (Asker::default(), Asker::default());
        first.task_runs("t1");
        let mut followed = Followed::new("t1");
        followed.on(&first);
        followed.on(&first.clone());
        assert!(runs(&first));
        followed.on(&second);
        assert!(!runs(&first) && runs(&second));
        drop(followed);
        assert!(!runs(&second));
    }

    #[test]
    fn tools_change_is_pending_until_handled() {
        let asker = Asker::default();
        assert!(asker.take_change().is_none());
        asker.changed.store(true, Ordering::Release);
        drop(asker.take_change());
        let again = asker.take_change();
        assert!(asker.take_change().is_none());
        if let Some(change) = again {
            change.handled();
        }
        assert!(asker.take_change().is_none());
    }
}
