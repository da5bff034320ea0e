//! The trait of a tool that sends one result after another.

use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::run::context::ToolContext;
use crate::run::error::ToolError;

/// A tool that sends one result after another. The model receives each, with the note that more may
/// come.
///
/// A value is recorded before the tool continues after its next `send`. While a value is being
/// recorded, the tool is not polled. Values sent from other tasks wait in a channel with room for
/// one. So a tool cannot run ahead of the journal. The call ends when the tool returns. A `send`
/// fails after the receiver is dropped.
///
/// ```
/// use async_trait::async_trait;
/// use recount_tool::{StreamingTool, T, ToolDispatcher, ToolError};
/// use serde_json::{Value, json};
/// use std::sync::Arc;
/// use tokio::sync::mpsc;
///
/// struct ProgressTracker;
///
/// #[async_trait]
/// impl StreamingTool for ProgressTracker {
///     fn name(&self) -> &str { "track_progress" }
///     fn description(&self) -> &str { "Tracks a long operation" }
///     fn parameters(&self) -> Option<Value> { None }
///
///     async fn run(&self, _args: Value, yield_tx: mpsc::Sender<Value>) -> Result<(), ToolError> {
///         for step in 0..5 {
///             yield_tx.send(json!({"step": step})).await
///                 .map_err(|e| ToolError::ExecutionFailed(e.to_string()))?;
///         }
///         Ok(())
///     }
/// }
///
/// let mut tools = ToolDispatcher::new();
/// tools.register_streaming(Arc::new(ProgressTracker))?;
/// # Ok::<(), recount_tool::RegistrationError>(())
/// ```
#[async_trait]
pub trait StreamingTool: Send + Sync + 'static {
    /// Returns the name by which the model calls the tool.
    fn name(&self) -> &str;

    /// Returns the description for the model.
    fn description(&self) -> &str;

    /// Returns the JSON Schema of the arguments; without one, any object is accepted.
    fn parameters(&self) -> Option<Value>;

    /// Runs the tool and sends each result.
    async fn run(&self, args: Value, yield_tx: mpsc::Sender<Value>) -> Result<(), ToolError>;

    /// Runs the tool with the context of its call. The engine calls this method.
    async fn run_with_context(
        &self,
        args: Value,
        context: ToolContext,
        yield_tx: mpsc::Sender<Value>,
    ) -> Result<(), ToolError> {
        drop(context);
        self.run(args, yield_tx).await
    }

    /// True if a call needs an approval before it runs.
    fn requires_confirmation(&self) -> bool {
        false
    }

    /// Returns the message for the approver.
    fn confirmation_message(&self) -> Option<&str> {
        None
    }
}
