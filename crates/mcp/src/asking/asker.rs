//! What a server may ask of its client: a question to a person, during a call.

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

use super::progress;
use crate::words::shown;

/// Answers a server: its questions by asking a person through the call for which it asks.
///
/// A question does not say for which call it is. So it is asked through the call that waits, if
/// that is the only one for which it can be: if no other waits, none was given up on this
/// connection whose server may still be at it, and no task runs there. Else it is declined.
#[derive(Clone, Default)]
pub(crate) struct Asker {
    server: String,
    unsaid: Unsaid,
    waiting: Arc<Mutex<AtWork>>,
    /// The server said that its tools are others now.
    changed: Arc<AtomicBool>,
}

/// What the server may be at work for.
#[derive(Default)]
struct AtWork {
    next: u64,
    /// Calls that wait for it, and those that were given up; through those nobody can be asked.
    calls: BTreeMap<u64, Option<ToolContext>>,
    /// Tasks whose calls do not wait for it.
    tasks: BTreeSet<String>,
    /// The calls whose progress it may report, by the token of the request.
    reporting: HashMap<ProgressToken, ToolContext>,
}

/// The server may report progress of a call as long as this is there.
pub(crate) struct Reporting {
    asker: Asker,
    token: ProgressToken,
}

impl Drop for Reporting {
    fn drop(&mut self) {
        self.asker.at_work().reporting.remove(&self.token);
    }
}

/// A call waits for the server as long as this is there. One that goes without an answer was given
/// up.
pub(crate) struct Waiting {
    asker: Asker,
    number: u64,
    is_answered: bool,
}

impl Waiting {
    /// The server is at work for this call no more.
    pub(crate) fn answered(mut self) {
        self.is_answered = true;
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut at_work = self.asker.at_work();
        if self.is_answered {
            at_work.calls.remove(&self.number);
        } else {
            at_work.calls.insert(self.number, None);
        }
    }
}

/// A task that somebody follows, on the connection on which it was last asked after: as long as
/// this is there, it runs there.
pub(crate) struct Followed {
    id: String,
    asker: Option<Asker>,
}

impl Followed {
    pub(crate) fn new(id: &str) -> Followed {
        let id = id.to_owned();
        Followed { id, asker: None }
    }

    /// It is asked after on this connection.
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

/// That the server has said that its tools are others: it counts as said until somebody has heeded
/// it.
pub(crate) struct Change(Option<Arc<AtomicBool>>);

impl Change {
    /// What its tools are now is known.
    pub(crate) fn heeded(mut self) {
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
    pub(crate) fn new(server: String, unsaid: Unsaid) -> Asker {
        Asker {
            server,
            unsaid,
            ..Asker::default()
        }
    }

    fn at_work(&self) -> MutexGuard<'_, AtWork> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a call waits for the server from now on.
    pub(crate) fn waits(&self, context: Option<&ToolContext>) -> Waiting {
        let mut at_work = self.at_work();
        let number = at_work.next;
        at_work.next += 1;
        at_work.calls.insert(number, context.cloned());
        Waiting {
            asker: self.clone(),
            number,
            is_answered: false,
        }
    }

    /// Hands on what the server reports of the progress of a request from now on.
    pub(crate) fn hears_of(&self, token: ProgressToken, context: &ToolContext) -> Reporting {
        let mut at_work = self.at_work();
        at_work.reporting.insert(token.clone(), context.clone());
        let asker = self.clone();
        Reporting { asker, token }
    }

    /// Notes that a task runs for a call that does not wait.
    pub(crate) fn task_runs(&self, id: &str) {
        self.at_work().tasks.insert(id.to_owned());
    }

    /// Notes that a task has ended.
    pub(crate) fn task_ended(&self, id: &str) {
        self.at_work().tasks.remove(id);
    }

    /// Whether the server has said since it was heeded that its tools are others.
    pub(crate) fn take_change(&self) -> Option<Change> {
        let said = self.changed.swap(false, Ordering::AcqRel);
        said.then(|| Change(Some(self.changed.clone())))
    }

    /// The only call for which the server can be asking.
    fn only_call(&self) -> Option<ToolContext> {
        let at_work = self.at_work();
        let mut calls = at_work.calls.values();
        let only = calls.next().filter(|_| calls.next().is_none())?;
        only.clone().filter(|_| at_work.tasks.is_empty())
    }

    /// Asks a person through a call. Where nobody can be asked, the answer is no.
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
            // Nobody is sent to a page that a foreign server names.
            return ElicitResult::new(ElicitationAction::Decline);
        };
        let message = self.unsaid.out_of(message);
        let hint = format!("The MCP server {:?} asks: {message}", self.server);
        let mut ask = Ask::new(hint, Value::Null);
        if let Ok(schema) = serde_json::to_value(&requested_schema) {
            ask = ask.payload_schema(shown::without(&self.unsaid, schema));
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

    /// Answers the questions with which a server has answered a call; what is no question gets no
    /// answer.
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
        let told = format!("the request cannot be read: {}", reason.unwrap_or_default());
        Err(ErrorData::invalid_request(told, None))
    }

    async fn on_progress(
        &self,
        said: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let call = self.at_work().reporting.get(&said.progress_token).cloned();
        if let Some(call) = call {
            call.progress(progress::told(&said, &self.unsaid)).await;
        }
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.store(true, Ordering::Release);
    }
}

/// The method of the request that stands in place of one of the server that cannot be read.
pub(crate) const UNREADABLE_REQUEST: &str = "recount/unreadable";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_runs_where_it_was_last_asked_after_until_nobody_follows_it() {
        let runs = |asker: &Asker| asker.at_work().tasks.contains("t1");
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
    fn a_change_of_the_tools_counts_as_said_until_it_is_heeded() {
        let asker = Asker::default();
        assert!(asker.take_change().is_none());
        asker.changed.store(true, Ordering::Release);
        drop(asker.take_change());
        let again = asker.take_change();
        assert!(asker.take_change().is_none());
        if let Some(change) = again {
            change.heeded();
        }
        assert!(asker.take_change().is_none());
    }
}
