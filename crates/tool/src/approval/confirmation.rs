//! The provider that answers confirmation requests in the same process.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use recount_session::{
    About, Json, Needs, ObjectHash, RequestId, Seq, SessionId, Timestamp, ToolConfirmation,
};
use serde_json::Value;

/// The request that a provider answers, with the same data as `PendingConfirmation` of the ledger.
///
/// For calls that a [dispatcher](crate::ToolDispatcher) runs itself, the agent is `dispatcher`.
/// Fields that an engine's embedding program sets, such as labels, are then empty.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ConfirmationRequest {
    /// The id of the request.
    pub id: RequestId,
    /// The session.
    pub session: SessionId,
    /// The agent that serves the session.
    pub agent: String,
    /// The embedding program's own name for the session.
    pub external_id: Option<String>,
    /// The session's labels.
    pub labels: BTreeMap<String, String>,
    /// The user for whom the agent acts.
    pub on_behalf_of: Option<String>,
    /// The sequence number of the request's record.
    pub request: Seq,
    /// The hash of the request's record, which an answer may [name](ToolConfirmation::to_request).
    /// A dispatcher's own records have none.
    pub request_hash: Option<ObjectHash>,
    /// The sequence number of the call's record.
    pub call: Seq,
    /// The hash of the call's record. A dispatcher's own records have none.
    pub call_hash: Option<ObjectHash>,
    /// The call of the agent whose model made this call; `None` for the model of the conversation.
    pub parent: Option<Seq>,
    /// The name of the tool.
    pub tool_name: String,
    /// The arguments.
    pub args: Value,
    /// The arguments exactly as the model sent them or as an approver changed them.
    pub args_text: Json,
    /// The JSON Pointers of the secret arguments, which are sealed.
    pub sealed_args: Vec<String>,
    /// The message of the tool's author for the approver.
    pub message: Option<String>,
    /// True if the running tool wrote the message, false if its declaration did.
    pub message_by_tool: bool,
    /// The subject: a first run, another run of a call in doubt, or a question of the tool itself.
    pub about: About,
    /// The JSON Schema for the payload of an approval.
    pub payload_schema: Option<Json>,
    /// The hash of the tool's contract.
    pub contract: ObjectHash,
    /// The hash of the tool's whole declaration.
    pub declaration: ObjectHash,
    /// The time of the request.
    pub requested_at: Timestamp,
    /// The time at which a missing answer becomes a denial.
    pub expires_at: Option<Timestamp>,
    /// True if the model has cancelled the call since.
    pub model_lost_interest: bool,
    /// The terms of the answers. If there are any, the answer of a provider is refused, because a
    /// program gives it.
    pub needs: Option<Box<Needs>>,
}

impl ConfirmationRequest {
    /// Creates a request with these ids. The caller fills in the other fields.
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
            needs: None,
        }
    }
}

/// Answers confirmation requests in this process.
///
/// After a restart the engine asks again about open requests. If a provider panics or never
/// returns, the request stays open for other approvers. Any async closure is a provider:
///
/// ```
/// use recount_tool::{ConfirmationProvider, ConfirmationRequest, ToolConfirmation};
/// fn provider() -> impl ConfirmationProvider {
///     |request: ConfirmationRequest| async move {
///         if request.tool_name == "refund" {
///             ToolConfirmation::denied("not today")
///         } else {
///             ToolConfirmation::confirmed()
///         }
///     }
/// }
/// # let _ = provider();
/// ```
#[async_trait]
pub trait ConfirmationProvider: Send + Sync + 'static {
    /// Answers one request.
    async fn confirm(&self, request: ConfirmationRequest) -> ToolConfirmation;

    /// Returns the name recorded as the answering program, of which the first 128 characters are
    /// kept. Defaults to the path of the type.
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

/// A provider that gives every request the same answer, for tests and simple defaults.
///
/// A request about a call in doubt stays open for other approvers: a fixed approval would repeat
/// work that may already be done.
#[derive(Clone, Debug)]
pub struct StaticConfirmation(ToolConfirmation);

impl StaticConfirmation {
    /// Approves every gated call and every question of a tool.
    pub fn allow_all() -> Arc<dyn ConfirmationProvider> {
        Arc::new(StaticConfirmation(ToolConfirmation::confirmed()))
    }

    /// Denies every gated call and every question of a tool.
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
