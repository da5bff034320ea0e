//! A tool whose result comes later.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use super::{Ticket, ToolContext, ToolError, ToolFunction, ToolOutcome};

/// A tool that begins something and returns: its result is supplied later from outside, by the call's id.
///
/// Returning `null` pauses without telling the model anything; any other value, also `{}`, is told as interim news, and
/// the call stays pending. An error is the end of the call. The model is told not to call again meanwhile.
///
/// ```
/// use std::sync::Arc;
/// use recount::tool::{LongRunningFunctionTool, SimpleTool, ToolDispatcher};
/// use serde_json::Value;
///
/// let print = SimpleTool::new("print_contract", "Has a contract printed", None, |_args| async {
///     // hand the job over, then:
///     Ok(Value::Null)
/// });
/// let mut tools = ToolDispatcher::new();
/// tools.register(LongRunningFunctionTool::new(Arc::new(print)))?;
/// # Ok::<(), recount::tool::RegistrationError>(())
/// ```
pub struct LongRunningFunctionTool {
    function: Arc<dyn ToolFunction>,
}

impl LongRunningFunctionTool {
    /// Makes a tool a long-running one; its gate stays.
    #[must_use]
    pub fn new(function: Arc<dyn ToolFunction>) -> Self {
        Self { function }
    }
}

#[async_trait]
impl ToolFunction for LongRunningFunctionTool {
    fn name(&self) -> &str {
        self.function.name()
    }

    fn description(&self) -> &str {
        self.function.description()
    }

    fn parameters(&self) -> Option<Value> {
        self.function.parameters()
    }

    async fn call(&self, args: Value) -> Result<Value, ToolError> {
        self.function.call(args).await
    }

    async fn call_with_context(
        &self,
        args: Value,
        context: ToolContext,
    ) -> Result<Value, ToolError> {
        self.function.call_with_context(args, context).await
    }

    async fn invoke(&self, args: Value, context: ToolContext) -> ToolOutcome {
        self.function.invoke(args, context).await
    }

    fn follows(&self) -> bool {
        self.function.follows()
    }

    async fn follow(&self, ticket: &Ticket, state: Value) -> Option<Result<Value, ToolError>> {
        self.function.follow(ticket, state).await
    }

    async fn call_off(&self, ticket: &Ticket, state: Value) {
        self.function.call_off(ticket, state).await;
    }

    async fn shut_down(&self) {
        self.function.shut_down().await;
    }

    fn requires_confirmation(&self) -> bool {
        self.function.requires_confirmation()
    }

    fn confirmation_message(&self) -> Option<&str> {
        self.function.confirmation_message()
    }

    fn is_long_running(&self) -> bool {
        true
    }
}
