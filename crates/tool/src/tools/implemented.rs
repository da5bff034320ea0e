//! The implementation of a tool, held against the one that was approved.

use std::sync::Arc;

use serde_json::Value;

use super::policy_tool::Body;
use super::policy_tool::PolicyTool;
use crate::run::error::ToolError;

impl PolicyTool {
    /// The datum by which what it runs is known again, as it is now.
    #[doc(hidden)]
    pub fn implementation(&self) -> Option<Value> {
        match &self.body {
            Body::Function(tool) => tool.implementation(),
            Body::Streaming(_)
            | Body::InputStreaming(_)
            | Body::ServerSide { .. }
            | Body::Agent(_) => None,
        }
    }

    /// True if a run can see what a person gave with a yes.
    pub(crate) fn takes_confirmation(&self) -> bool {
        match &self.body {
            Body::Function(tool) => tool.takes_confirmation(),
            // Of a gate on what the service runs another mistake tells.
            Body::Streaming(_) | Body::InputStreaming(_) | Body::ServerSide { .. } => true,
            Body::Agent(_) => false,
        }
    }

    /// Says no where it runs something else than what was `approved`.
    #[doc(hidden)]
    pub async fn still_runs(self: &Arc<Self>, approved: Value) -> Result<(), ToolError> {
        let tool = self.clone();
        let same = move || tool.implementation() == Some(approved);
        match tokio::task::spawn_blocking(same).await {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => Err(ToolError::NotAvailable(
                "what the tool runs was changed after it was approved, so it did not run"
                    .to_owned(),
            )),
        }
    }
}
