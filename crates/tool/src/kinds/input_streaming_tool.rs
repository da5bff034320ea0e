//! A tool that hears the user while it runs.

use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::{broadcast, mpsc};

use crate::run::context::ToolContext;
use crate::run::error::ToolError;
use crate::run::input::InputEvent;

/// A tool that hears and sees the user while it runs, and gives one result after another.
///
/// It gets what comes in from its start on, in order. What it does not take in time is lost, and it
/// is told how much: [`InputEvent::Lagged`] stands in the place of what is missing, so the loop
/// below never ends because of it. The loop ends with the input. Of its results holds what
/// [`StreamingTool`](crate::StreamingTool) says.
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
    /// The name the model calls it by.
    fn name(&self) -> &str;

    /// What it does, in words for the model.
    fn description(&self) -> &str;

    /// The JSON Schema of its arguments; without one, any object is accepted.
    fn parameters(&self) -> Option<Value>;

    /// Does the work: takes the user's input and sends each result.
    async fn run(
        &self,
        args: Value,
        input_rx: broadcast::Receiver<InputEvent>,
        yield_tx: mpsc::Sender<Value>,
    ) -> Result<(), ToolError>;

    /// Does the work, knowing which call it serves; this is what the engine calls.
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

    /// Whether a person must agree before it runs.
    fn requires_confirmation(&self) -> bool {
        false
    }

    /// What that person is told.
    fn confirmation_message(&self) -> Option<&str> {
        None
    }
}
