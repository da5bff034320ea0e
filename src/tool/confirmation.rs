//! The first door to an approval: a provider in the same process.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use crate::session::{Answer, Json, RequestId, SessionId};

/// What a person says to a gated call.
///
/// ```
/// use recount::ToolConfirmation;
/// assert!(ToolConfirmation::confirmed().confirmed);
/// assert_eq!(ToolConfirmation::denied("too much").reason.as_deref(), Some("too much"));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolConfirmation {
    /// What the person was told.
    pub hint: Option<String>,
    /// Yes or no.
    pub confirmed: bool,
    /// Something for the tool.
    pub payload: Option<Value>,
    /// Why, in the person's words; of a denial the model is told.
    pub reason: Option<String>,
}

impl ToolConfirmation {
    /// Yes.
    pub fn confirmed() -> ToolConfirmation {
        ToolConfirmation {
            confirmed: true,
            ..ToolConfirmation::default()
        }
    }

    /// No, and why.
    pub fn denied(reason: impl Into<String>) -> ToolConfirmation {
        ToolConfirmation {
            reason: Some(reason.into()),
            ..ToolConfirmation::default()
        }
    }

    /// With something for the tool.
    pub fn with_payload(mut self, payload: Value) -> ToolConfirmation {
        self.payload = Some(payload);
        self
    }

    /// With the person's own words.
    pub fn with_reason(mut self, reason: impl Into<String>) -> ToolConfirmation {
        self.reason = Some(reason.into());
        self
    }

    pub(crate) fn into_answer(self) -> Answer {
        let payload = self.payload.as_ref().map(Json::of);
        Answer {
            confirmed: self.confirmed,
            reason: self.reason,
            payload,
        }
    }
}

/// What a provider is asked.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ConfirmationRequest {
    /// The request's name.
    pub id: RequestId,
    /// The session.
    pub session: SessionId,
    /// The tool.
    pub tool_name: String,
    /// The arguments.
    pub args: Value,
    /// The arguments exactly as the model sent them.
    pub args_text: Json,
    /// What the tool's author wants the person to know.
    pub message: Option<String>,
}

/// Answers confirmation requests in this process.
///
/// It is asked again after a restart for what is still open; one that panics or never returns leaves the request
/// open for the other doors. Any async closure is one:
///
/// ```
/// use recount::{ConfirmationProvider, ConfirmationRequest, ToolConfirmation};
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
#[derive(Clone, Debug)]
pub struct StaticConfirmation(ToolConfirmation);

impl StaticConfirmation {
    /// Yes to everything.
    pub fn allow_all() -> Arc<dyn ConfirmationProvider> {
        Arc::new(StaticConfirmation(ToolConfirmation::confirmed()))
    }

    /// No to everything.
    pub fn deny_all(reason: impl Into<String>) -> Arc<dyn ConfirmationProvider> {
        Arc::new(StaticConfirmation(ToolConfirmation::denied(reason)))
    }
}

#[async_trait]
impl ConfirmationProvider for StaticConfirmation {
    async fn confirm(&self, _request: ConfirmationRequest) -> ToolConfirmation {
        self.0.clone()
    }
}
