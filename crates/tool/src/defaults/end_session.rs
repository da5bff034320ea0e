//! `endSession`: the model ends the session after the user has confirmed.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ready_made::ReadyMade;
use crate::run::context::ToolContext;
use crate::run::error::ToolError;
use crate::run::tool_event::ToolEvent;

/// The name of the tool that ends the session, and of its event.
pub const END_SESSION: &str = "endSession";

/// The event before a session ends because the model ended it and the user confirmed.
///
/// ```json
/// {"reason":"the user said goodbye"}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndSession {
    /// The reason in the model's words.
    pub reason: String,
}

impl ToolEvent for EndSession {
    const NAME: &'static str = END_SESSION;
}

pub(super) struct Tool;

#[derive(Deserialize)]
pub(super) struct Arguments {
    reason: String,
    confirmed: bool,
}

#[async_trait]
impl ReadyMade for Tool {
    const NAME: &'static str = END_SESSION;
    const DESCRIPTION: &'static str = "Ends the conversation. Call it when the user says goodbye, wants to stop, or when the task is done: first with \
         confirmed false, then ask the user, and with confirmed true once the user has agreed.";
    type Arguments = Arguments;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "reason": {"type": "string", "description": "Why the conversation ends"},
                "confirmed": {"type": "boolean", "description": "Whether the user has agreed to end it"},
            },
            "required": ["reason", "confirmed"],
        })
    }

    async fn done(&self, args: Arguments, context: ToolContext) -> Result<Value, ToolError> {
        let Arguments { reason, confirmed } = args;
        // Outside a session there are no open confirmation requests.
        let found = context.look_back(0).await.unwrap_or_default();
        let mut result = if confirmed {
            context.end_session(reason.clone())?;
            context.emit(&EndSession {
                reason: reason.clone(),
            })?;
            json!({
                "success": true,
                "message": "Session ending after confirmation",
                "reason": reason,
                "confirmed": true,
            })
        } else {
            json!({
                "success": true,
                "message": "Confirmation required before ending session",
                "reason": reason,
                "confirmed": false,
                "action": "awaiting_confirmation",
            })
        };
        if let Value::Object(result) = &mut result
            && !found.asked_about.is_empty()
        {
            result.insert("withdraws".to_owned(), found.asked_about.into());
        }
        Ok(result)
    }
}
