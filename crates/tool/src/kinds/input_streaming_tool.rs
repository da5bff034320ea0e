//! The trait of a tool that receives the user's input while it runs.

use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::{broadcast, mpsc};

use crate::run::context::ToolContext;
use crate::run::error::ToolError;
use crate::run::input::InputEvent;

/// A tool that receives the user's live input while it runs, and sends one result after another.
///
/// It receives the input from its start on, in order. If it falls behind, it loses events:
/// [`InputEvent::Lagged`] replaces them with their number, so the loop below does not end early.
/// The loop ends with the input. Its results follow the rules of
/// [`StreamingTool`](crate::StreamingTool).
///
/// ```
/// use async_trait::async_trait;
/// use recount_tool::{InputEvent, InputStreamingTool, ToolDispatcher, ToolError};
/// use serde_json::{Value, json};
/// use std::sync::Arc;
/// use tokio::sync::{broadcast, mpsc};
///
/// struct CountPictures;
///
/// #[async_trait]
/// impl InputStreamingTool for CountPictures {
///     fn name(&self) -> &str { "count_pictures" }
///     fn description(&self) -> &str { "Counts what the user shows" }
///     fn parameters(&self) -> Option<Value> { None }
///
///     async fn run(
///         &self,
///         _args: Value,
///         mut input_rx: broadcast::Receiver<InputEvent>,
///         yield_tx: mpsc::Sender<Value>,
///     ) -> Result<(), ToolError> {
///         let mut pictures = 0;
///         while let Ok(event) = input_rx.recv().await {
///             if let InputEvent::Video { .. } = event {
///                 pictures += 1;
///                 yield_tx.send(json!({"pictures": pictures})).await
///                     .map_err(|e| ToolError::ExecutionFailed(e.to_string()))?;
///             }
///         }
///         Ok(())
///     }
/// }
///
/// let mut tools = ToolDispatcher::new();
/// tools.register_input_streaming(Arc::new(CountPictures))?;
/// # Ok::<(), recount_tool::RegistrationError>(())
/// ```
#[async_trait]
pub trait InputStreamingTool: Send + Sync + 'static {
    /// Returns the name by which the model calls the tool.
    fn name(&self) -> &str;

    /// Returns the description for the model.
    fn description(&self) -> &str;

    /// Returns the JSON Schema of the arguments; without one, any object is accepted.
    fn parameters(&self) -> Option<Value>;

    /// Runs the tool: receives the user's input and sends each result.
    async fn run(
        &self,
        args: Value,
        input_rx: broadcast::Receiver<InputEvent>,
        yield_tx: mpsc::Sender<Value>,
    ) -> Result<(), ToolError>;

    /// Runs the tool with the context of its call. The engine calls this method.
    async fn run_with_context(
        &self,
        args: Value,
        context: ToolContext,
        input_rx: broadcast::Receiver<InputEvent>,
        yield_tx: mpsc::Sender<Value>,
    ) -> Result<(), ToolError> {
        drop(context);
        self.run(args, input_rx, yield_tx).await
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
