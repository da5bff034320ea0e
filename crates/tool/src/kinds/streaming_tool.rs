//! A tool that gives one result after another.

use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::run::context::ToolContext;
use crate::run::error::ToolError;

/// A tool that gives one result after another; the model is told each, and that more may come.
///
/// A value is on record before the tool goes on past its next `send`: while a value is being
/// recorded the tool is not run, and what it has sent elsewhere waits in a channel with room for
/// one. So a tool cannot run ahead of the journal. When it returns, the call is at its end. A
/// `send` fails when nobody listens any more.
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
    /// The name the model calls it by.
    fn name(&self) -> &str;

    /// What it does, in words for the model.
    fn description(&self) -> &str;

    /// The JSON Schema of its arguments; without one, any object is accepted.
    fn parameters(&self) -> Option<Value>;

    /// Does the work and sends each result.
    async fn run(&self, args: Value, yield_tx: mpsc::Sender<Value>) -> Result<(), ToolError>;

    /// Does the work, knowing which call it serves; this is what the engine calls.
    async fn run_with_context(
        &self,
        args: Value,
        context: ToolContext,
        yield_tx: mpsc::Sender<Value>,
    ) -> Result<(), ToolError> {
        drop(context);
        self.run(args, yield_tx).await
    }

    /// Whether a person must agree before it runs.
    fn requires_confirmation(&self) -> bool {
        false
    }

    /// What that person is told.
    fn confirmation_message(&self) -> Option<&str> {
        None
    }
}
