//! The methods of a tool outside a run: for calls that it has paused, and for its resources.

use recount_session::Json;
use serde_json::Value;

use super::policy_tool::Body;
use super::policy_tool::PolicyTool;
use crate::run::error::ToolError;
use crate::run::ticket::Ticket;

impl PolicyTool {
    /// True if the tool itself waits for the results of its paused calls.
    #[doc(hidden)]
    pub fn follows(&self) -> bool {
        match &self.body {
            Body::Function(tool) => tool.follows(),
            Body::Agent(_)
            | Body::Streaming(_)
            | Body::InputStreaming(_)
            | Body::ServerSide { .. }
            | Body::Client(_) => false,
        }
    }

    /// Waits for the result of a paused call.
    #[doc(hidden)]
    pub async fn follow(&self, ticket: &Ticket, state: Value) -> Option<Result<Json, ToolError>> {
        match &self.body {
            Body::Function(tool) => tool.follow_text(ticket, state).await,
            Body::Agent(_)
            | Body::Streaming(_)
            | Body::InputStreaming(_)
            | Body::ServerSide { .. }
            | Body::Client(_) => None,
        }
    }

    /// Cancels the work of a call that the tool was following.
    #[doc(hidden)]
    pub async fn call_off(&self, ticket: &Ticket, state: Value) {
        match &self.body {
            Body::Function(tool) => tool.call_off(ticket, state).await,
            Body::Agent(_)
            | Body::Streaming(_)
            | Body::InputStreaming(_)
            | Body::ServerSide { .. }
            | Body::Client(_) => {}
        }
    }

    /// Releases resources outside this process.
    #[doc(hidden)]
    pub async fn shut_down(&self) {
        match &self.body {
            Body::Function(tool) => tool.shut_down().await,
            Body::Agent(_)
            | Body::Streaming(_)
            | Body::InputStreaming(_)
            | Body::ServerSide { .. }
            | Body::Client(_) => {}
        }
    }
}
