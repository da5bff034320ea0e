//! The first door to an approval: a provider in the same process.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use recount_session::{
    About, Json, ObjectHash, RequestId, Seq, SessionId, Timestamp, ToolConfirmation,
};
use serde_json::Value;

/// What a provider is asked: all that `PendingConfirmation` of the ledger tells the other doors.
///
/// Of a [dispatcher](crate::ToolDispatcher) that runs its tools itself, the agent is `dispatcher`,
/// and what a program says of a session in an engine, such as labels, is empty.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ConfirmationRequest {
    /// The request's name.
    pub id: RequestId,
    /// The session.
    pub session: SessionId,
    /// The agent that serves it.
    pub agent: String,
    /// The embedding program's own name for the session.
    pub external_id: Option<String>,
    /// The session's labels.
    pub labels: BTreeMap<String, String>,
    /// The one for whom the agent acts.
    pub on_behalf_of: Option<String>,
    /// The record of the request.
    pub request: Seq,
    /// Its hash, which an answer may [name](ToolConfirmation::to_request); a dispatcher's own
    /// records have none.
    pub request_hash: Option<ObjectHash>,
    /// The record of the call.
    pub call: Seq,
    /// Its hash; a dispatcher's own records have none.
    pub call_hash: Option<ObjectHash>,
    /// The call of the agent whose model made it; none where that of the conversation did.
    pub parent: Option<Seq>,
    /// The tool.
    pub tool_name: String,
    /// The arguments.
    pub args: Value,
    /// The arguments exactly as the model sent them, or as a person changed them.
    pub args_text: Json,
    /// The JSON Pointers of the arguments that are secret, and sealed.
    pub sealed_args: Vec<String>,
    /// What the tool's author wants the person to know.
    pub message: Option<String>,
    /// The tool itself wrote the message, while it ran; otherwise whoever declared it.
    pub message_by_tool: bool,
    /// May it run, or: it may have run, may it run again? Or the tool asks itself.
    pub about: About,
    /// The JSON Schema that the payload of a yes must fit.
    pub payload_schema: Option<Json>,
    /// The contract of the tool that is asked about.
    pub contract: ObjectHash,
    /// Its whole declaration.
    pub declaration: ObjectHash,
    /// When it was asked.
    pub requested_at: Timestamp,
    /// When silence becomes a no.
    pub expires_at: Option<Timestamp>,
    /// The model took the call back meanwhile.
    pub model_lost_interest: bool,
}

impl ConfirmationRequest {
    /// Makes a request with these ids. The caller fills in the other fields.
    #[doc(hidden)]
    #[must_use]
    pub fn blank(
        id: RequestId,
        session: SessionId,
        (contract, declaration): (ObjectHash, ObjectHash),
        requested_at: Timestamp,
    ) -> ConfirmationRequest {
        ConfirmationRequest {
            id,
            session,
            agent: String::new(),
            external_id: None,
            labels: BTreeMap::new(),
            on_behalf_of: None,
            request: Seq(0),
            request_hash: None,
            call: Seq(0),
            call_hash: None,
            parent: None,
            tool_name: String::new(),
            args: Value::Null,
            args_text: Json::of(&Value::Null),
            sealed_args: Vec::new(),
            message: None,
            message_by_tool: false,
            about: About::Gate,
            payload_schema: None,
            contract,
            declaration,
            requested_at,
            expires_at: None,
            model_lost_interest: false,
        }
    }
}

/// Answers confirmation requests in this process.
///
/// It is asked again after a restart for what is still open; one that panics or never returns
/// leaves the request open for the other doors. Any async closure is one:
///
/// ```
/// use recount_tool::{ConfirmationProvider, ConfirmationRequest, ToolConfirmation};
/// fn provider() -> impl ConfirmationProvider {
///     |request: ConfirmationRequest| async move {
///         if request.tool_name == "refund" { ToolConfirmation::denied("not today") } else { ToolConfirmation::confirmed() }
///     }
/// }
/// # let _ = provider();
/// ```
#[async_trait]
pub trait ConfirmationProvider: Send + Sync + 'static {
    /// Answers one request.
    async fn confirm(&self, request: ConfirmationRequest) -> ToolConfirmation;

    /// The name that stands on record as the program that answered, of which the first 128
    /// characters are kept. It is the path of the type unless the provider says another.
    fn name(&self) -> String {
        std::any::type_name::<Self>().to_owned()
    }
}

#[async_trait]
impl<F, A> ConfirmationProvider for F
where
    F: Fn(ConfirmationRequest) -> A + Send + Sync + 'static,
    A: Future<Output = ToolConfirmation> + Send,
{
    async fn confirm(&self, request: ConfirmationRequest) -> ToolConfirmation {
        self(request).await
    }
}

/// The same answer to every request, for tests and simple defaults.
///
/// A request about a call in doubt stays open for the other doors: a uniform yes would run what may
/// have run already.
#[derive(Clone, Debug)]
pub struct StaticConfirmation(ToolConfirmation);

impl StaticConfirmation {
    /// Says yes to every gate and to every tool that asks itself.
    pub fn allow_all() -> Arc<dyn ConfirmationProvider> {
        Arc::new(StaticConfirmation(ToolConfirmation::confirmed()))
    }

    /// Says no to every gate and to every tool that asks itself.
    pub fn deny_all(reason: impl Into<String>) -> Arc<dyn ConfirmationProvider> {
        Arc::new(StaticConfirmation(ToolConfirmation::denied(reason)))
    }
}

#[async_trait]
impl ConfirmationProvider for StaticConfirmation {
    async fn confirm(&self, request: ConfirmationRequest) -> ToolConfirmation {
        match request.about {
            About::Gate | About::Tool => self.0.clone(),
            About::InDoubt => std::future::pending().await,
        }
    }

    fn name(&self) -> String {
        let answers = if self.0.confirmed {
            "allow_all"
        } else {
            "deny_all"
        };
        format!("StaticConfirmation::{answers}")
    }
}
