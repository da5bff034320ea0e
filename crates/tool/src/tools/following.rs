//! What a tool has to do with outside a run: calls that it has paused, and what it holds.

use recount_session::Json;
use serde_json::Value;

use super::policy_tool::Body;
use super::policy_tool::PolicyTool;
use crate::run::error::ToolError;
use crate::run::ticket::Ticket;

impl PolicyTool {
    /// Whether it knows itself how a call goes on that it has paused.
    #[doc(hidden)]
    pub fn follows(&self) -> bool {
        match &self.body {
            Body::Function(tool) => tool.follows(),
            Body::Agent(_)
            | Body::Streaming(_)
            | Body::InputStreaming(_)
            | Body::ServerSide { .. } => false,
        }
    }

    /// Waits for the result of a call that it has paused.
    #[doc(hidden)]
    pub async fn follow(&self, ticket: &Ticket, state: Value) -> Option<Result<Json, ToolError>> {
        match &self.body {
            Body::Function(tool) => tool.follow_text(ticket, state).await,
            Body::Agent(_)
            | Body::Streaming(_)
            | Body::InputStreaming(_)
            | Body::ServerSide { .. } => None,
        }
    }

    /// Calls off what it has begun for a call that it was following.
    #[doc(hidden)]
    pub async fn call_off(&self, ticket: &Ticket, state: Value) {
        match &self.body {
            Body::Function(tool) => tool.call_off(ticket, state).await,
            Body::Agent(_)
            | Body::Streaming(_)
            | Body::InputStreaming(_)
            | Body::ServerSide { .. } => {}
        }
    }

    /// Lets go of what it holds outside this process.
    #[doc(hidden)]
    pub async fn shut_down(&self) {
        match &self.body {
            Body::Function(tool) => tool.shut_down().await,
            Body::Agent(_)
            | Body::Streaming(_)
            | Body::InputStreaming(_)
            | Body::ServerSide { .. } => {}
        }
    }
}
