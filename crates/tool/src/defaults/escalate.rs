//! `escalate`: the model calls for a person.

use std::sync::Arc;

use async_trait::async_trait;
use recount_session::{SessionId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ready_made::ReadyMade;
use crate::run::context::ToolContext;
use crate::run::error::ToolError;
use crate::run::tool_event::ToolEvent;

/// The name of the tool that calls for a person, and of its event.
pub const ESCALATE: &str = "escalate";

/// The context in the result if the model gave none.
const NO_CONTEXT: &str = "No additional context provided";

/// A service of the embedding program that calls a person. Register it as `Arc<dyn Escalation>`.
///
/// [`T::escalate`](crate::T::escalate) has an example.
#[async_trait]
pub trait Escalation: Send + Sync + 'static {
    /// Calls a person.
    ///
    /// The attempt failed; the model receives the error. If no person accepts, return a
    /// [declined reply](EscalationReply::declined) instead.
    async fn escalate(&self, request: &EscalationRequest) -> Result<EscalationReply, ToolError>;
}

/// A request for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EscalationRequest {
    /// The session of the conversation.
    pub session: SessionId,
    /// A key that all attempts of one call share and no other call has.
    pub idempotency_key: String,
    /// The reason in the model's words.
    pub reason: String,
    /// Further information for the person, if the model gave any.
    pub context: Option<String>,
}

/// The result of an escalation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EscalationReply {
    /// True if a person takes over.
    pub accepted: bool,
    /// The message for the model.
    pub message: String,
}

impl EscalationReply {
    /// Creates a reply that says a person takes over.
    #[must_use]
    pub fn accepted(message: impl Into<String>) -> EscalationReply {
        EscalationReply {
            accepted: true,
            message: message.into(),
        }
    }

    /// Creates a reply that says no person takes over.
    #[must_use]
    pub fn declined(message: impl Into<String>) -> EscalationReply {
        EscalationReply {
            accepted: false,
            message: message.into(),
        }
    }
}

/// The result of an escalation as one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EscalationStatus {
    /// A person takes over.
    Escalated,
    /// No person takes over, or no escalation service is registered.
    Failed,
    /// The attempt failed.
    Error,
}

/// The event of an escalation by the model.
///
/// ```json
/// {"reason":"angry","context":"lost two parcels","status":"escalated"}
/// {"reason":"angry","status":"error","error":"503"}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Escalated {
    /// The reason in the model's words.
    pub reason: String,
    /// Further information from the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The result.
    pub status: EscalationStatus,
    /// The error of a failed attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl ToolEvent for Escalated {
    const NAME: &'static str = ESCALATE;
}

pub(super) struct Tool;

#[derive(Deserialize)]
pub(super) struct Arguments {
    reason: String,
    context: Option<String>,
}

#[async_trait]
impl ReadyMade for Tool {
    const NAME: &'static str = ESCALATE;
    const DESCRIPTION: &'static str =
        "Calls for a person, where you cannot help any further or the user asks for one.";
    type Arguments = Arguments;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "reason": {"type": "string", "description": "Why a person is needed"},
                "context": {"type": "string", "description": "What the person should know"},
            },
            "required": ["reason"],
        })
    }

    async fn done(&self, args: Arguments, context: ToolContext) -> Result<Value, ToolError> {
        let Arguments {
            reason,
            context: more,
        } = args;
        let request = EscalationRequest {
            session: context.session,
            idempotency_key: context.idempotency_key(),
            reason: reason.clone(),
            context: more.clone(),
        };
        let replied = match context.service::<Arc<dyn Escalation>>() {
            Some(desk) => desk.escalate(&request).await,
            None => Ok(EscalationReply::declined("There is nobody to escalate to")),
        };
        let status = match &replied {
            Ok(reply) if reply.accepted => EscalationStatus::Escalated,
            Ok(_) => EscalationStatus::Failed,
            Err(_) => EscalationStatus::Error,
        };
        let error = replied.as_ref().err().map(ToString::to_string);
        context.emit(&Escalated {
            reason: reason.clone(),
            context: more.clone(),
            status,
            error: error.clone(),
        })?;
        let failed = "Escalation request failed due to technical error";
        let mut result = json!({
            "success": status == EscalationStatus::Escalated,
            "message": replied.map_or_else(|_| failed.to_owned(), |reply| reply.message),
            "reason": reason,
            "context": more.as_deref().unwrap_or(NO_CONTEXT),
            "status": status,
        });
        if let Value::Object(result) = &mut result {
            match error {
                Some(error) => drop(result.insert("error".to_owned(), error.into())),
                None => {
                    let id = context.session.to_string();
                    result.insert("conversationId".to_owned(), id.into());
                }
            }
            let at = context.now().and_then(in_words);
            result.extend(at.map(|at| ("timestamp".to_owned(), at.into())));
        }
        Ok(result)
    }
}

/// Formats a time as JavaScript's `toISOString` does.
fn in_words(at: Timestamp) -> Option<String> {
    let at = chrono::DateTime::from_timestamp_micros(at.0)?;
    Some(at.to_rfc3339_opts(chrono::SecondsFormat::Millis, true))
}
