//! `endSession`: the model ends the session, once it has asked whether it should.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{read, takes_a_call, when_idle};
use crate::tool::{ToolContext, ToolError, ToolEvent, ToolFunction, ToolOutcome};

/// The name of the tool that ends the session, and of its event.
pub const END_SESSION: &str = "endSession";

/// The session is about to end, because the model said so and had it confirmed.
///
/// ```json
/// {"reason":"the user said goodbye"}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndSession {
    /// Why.
    pub reason: String,
}

impl ToolEvent for EndSession {
    const NAME: &'static str = END_SESSION;
}

pub(super) struct Tool;

#[derive(Deserialize)]
struct Arguments {
    reason: String,
    confirmed: bool,
}

#[async_trait]
impl ToolFunction for Tool {
    fn name(&self) -> &str {
        END_SESSION
    }

    fn description(&self) -> &str {
        "Ends the conversation. Call it when the user says goodbye, wants to stop, or when the task is done: first with \
         confirmed false, then ask the user, and with confirmed true once the user has agreed."
    }

    fn parameters(&self) -> Option<Value> {
        Some(json!({
            "type": "object",
            "properties": {
                "reason": {"type": "string", "description": "Why the conversation ends"},
                "confirmed": {"type": "boolean", "description": "Whether the user has agreed to end it"},
            },
            "required": ["reason", "confirmed"],
        }))
    }

    async fn call(&self, _args: Value) -> Result<Value, ToolError> {
        Err(takes_a_call())
    }

    async fn call_with_context(
        &self,
        args: Value,
        context: ToolContext,
    ) -> Result<Value, ToolError> {
        let Arguments { reason, confirmed } = read(args)?;
        if !confirmed {
            return Ok(json!({
                "success": true,
                "message": "Confirmation required before ending session",
                "reason": reason,
                "confirmed": false,
                "action": "awaiting_confirmation",
            }));
        }
        context.end_session(reason.clone())?;
        context.emit(&EndSession {
            reason: reason.clone(),
        })?;
        Ok(json!({
            "success": true,
            "message": "Session ending after confirmation",
            "reason": reason,
            "confirmed": true,
        }))
    }

    async fn invoke(&self, args: Value, context: ToolContext) -> ToolOutcome {
        when_idle(self.call_with_context(args, context).await)
    }
}
