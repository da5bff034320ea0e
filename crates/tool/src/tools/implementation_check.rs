//! The check that a tool's implementation is still the approved one, and what it reads of a call.

use std::sync::Arc;

use serde_json::Value;

use super::policy_tool::{Body, PolicyTool};
use crate::run::error::ToolError;

impl PolicyTool {
    /// Returns the current identity of the implementation.
    #[doc(hidden)]
    pub fn implementation(&self) -> Option<Value> {
        match &self.body {
            Body::Function(tool) => tool.implementation(),
            Body::Streaming(_)
            | Body::InputStreaming(_)
            | Body::ServerSide { .. }
            | Body::Agent(_)
            | Body::Client(_) => None,
        }
    }

    /// True if the tool reads the text of its arguments itself; see
    /// [`ToolFunction::reads_text`](crate::ToolFunction::reads_text).
    pub(crate) fn reads_text(&self) -> bool {
        match &self.body {
            Body::Function(tool) => tool.reads_text(),
            Body::Streaming(_)
            | Body::InputStreaming(_)
            | Body::ServerSide { .. }
            | Body::Agent(_)
            | Body::Client(_) => false,
        }
    }

    /// True if a run can read the payload of an approval.
    pub(crate) fn takes_confirmation(&self) -> bool {
        match &self.body {
            Body::Function(tool) => tool.takes_confirmation(),
            // A gate on a server-side tool is reported as another mistake.
            Body::Streaming(_) | Body::InputStreaming(_) | Body::ServerSide { .. } => true,
            // The claim has it.
            Body::Client(_) => true,
            Body::Agent(_) => false,
        }
    }

    /// Returns an error if the tool would run something else than `approved`.
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
