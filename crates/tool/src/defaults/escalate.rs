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

/// What is told where the model gave no context.
const NO_CONTEXT: &str = "No additional context provided";

/// Whoever calls a person, in the program that embeds the agent: a service like any other,
/// registered as `Arc<dyn Escalation>`.
///
/// [`T::escalate`](crate::T::escalate) has an example.
#[async_trait]
pub trait Escalation: Send + Sync + 'static {
    /// Calls a person.
    ///
    /// # Errors
    /// Where it could not be tried; the model is told so. That nobody takes over is no error, but a
    /// [reply](EscalationReply::declined).
    async fn escalate(&self, request: &EscalationRequest) -> Result<EscalationReply, ToolError>;
}

/// What a person is called for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EscalationRequest {
    /// The conversation.
    pub session: SessionId,
    /// The same for every attempt of one call and for no other call.
    pub idempotency_key: String,
    /// Why, in the model's words.
    pub reason: String,
    /// What else the person should know, if the model said anything.
    pub context: Option<String>,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EscalationReply {
    /// Whether somebody takes over.
    pub accepted: bool,
    /// What the model is told.
    pub message: String,
}

impl EscalationReply {
    /// Somebody takes over.
    #[must_use]
    pub fn accepted(message: impl Into<String>) -> EscalationReply {
        EscalationReply {
            accepted: true,
            message: message.into(),
        }
    }

    /// Nobody does.
    #[must_use]
    pub fn declined(message: impl Into<String>) -> EscalationReply {
        EscalationReply {
            accepted: false,
            message: message.into(),
        }
    }
}

/// What became of a call for a person, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EscalationStatus {
    /// Somebody takes over.
    Escalated,
    /// Nobody does, or there is nobody who could be called.
    Failed,
    /// It could not be tried.
    Error,
}

/// The model called for a person.
///
/// ```json
/// {"reason":"angry","context":"lost two parcels","status":"escalated"}
/// {"reason":"angry","status":"error","error":"503"}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Escalated {
    /// Why, in the model's words.
    pub reason: String,
    /// What else it said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// What became of it.
    pub status: EscalationStatus,
    /// Why it could not be tried.
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
        let mut told = json!({
            "success": status == EscalationStatus::Escalated,
            "message": replied.map_or_else(|_| failed.to_owned(), |reply| reply.message),
            "reason": reason,
            "context": more.as_deref().unwrap_or(NO_CONTEXT),
            "status": status,
        });
        if let Value::Object(told) = &mut told {
            match error {
                Some(error) => drop(told.insert("error".to_owned(), error.into())),
                None => {
                    let id = context.session.to_string();
                    told.insert("conversationId".to_owned(), id.into());
                }
            }
            let at = context.now().and_then(in_words);
            told.extend(at.map(|at| ("timestamp".to_owned(), at.into())));
        }
        Ok(told)
    }
}

/// A time as JavaScript writes it.
fn in_words(at: Timestamp) -> Option<String> {
    let at = chrono::DateTime::from_timestamp_micros(at.0)?;
    Some(at.to_rfc3339_opts(chrono::SecondsFormat::Millis, true))
}
