//! A tool made of a closure.

use std::fmt;
use std::pin::Pin;

use async_trait::async_trait;
use futures_util::FutureExt;
use serde_json::Value;

use crate::kinds::function::ToolFunction;
use crate::run::context::ToolContext;
use crate::run::error::ToolError;
use crate::run::outcome::ToolOutcome;

/// A tool made of an async closure from arguments to result.
///
/// ```
/// use recount_tool::SimpleTool;
/// use serde_json::json;
///
/// let weather = SimpleTool::new(
///     "get_weather",
///     "Tells the weather in a city",
///     Some(json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]})),
///     |args| async move { Ok(json!({"city": args["city"], "temperature_c": 22})) },
/// );
/// ```
pub struct SimpleTool {
    name: String,
    description: String,
    parameters: Option<Value>,
    handler: Box<dyn Handler>,
}

/// A closure, called with either result type, so that one box holds its future.
trait Handler: Send + Sync {
    fn call(&self, args: Value) -> Pin<Box<dyn Future<Output = Result<Value, ToolError>> + Send>>;
    fn invoke(&self, args: Value) -> Pin<Box<dyn Future<Output = ToolOutcome> + Send>>;
}

impl<F, Fut> Handler for F
where
    F: Fn(Value) -> Fut + Send + Sync,
    Fut: Future<Output = Result<Value, ToolError>> + Send + 'static,
{
    fn call(&self, args: Value) -> Pin<Box<dyn Future<Output = Result<Value, ToolError>> + Send>> {
        Box::pin(self(args))
    }

    fn invoke(&self, args: Value) -> Pin<Box<dyn Future<Output = ToolOutcome> + Send>> {
        Box::pin(self(args).map(ToolOutcome::from))
    }
}

impl SimpleTool {
    /// Creates a tool; without `parameters` it accepts any object.
    pub fn new<F, Fut>(
        name: impl Into<String>,
        description: impl Into<String>,
        parameters: Option<Value>,
        handler: F,
    ) -> Self
    where
        F: Fn(Value) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, ToolError>> + Send + 'static,
    {
        Self {
            name: name.into(),
            description: description.into(),
            parameters,
            handler: Box::new(handler),
        }
    }
}

impl fmt::Debug for SimpleTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimpleTool")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl ToolFunction for SimpleTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn parameters(&self) -> Option<Value> {
        self.parameters.clone()
    }

    /// Returns false, because the closure has no context to read the payload from.
    fn takes_confirmation(&self) -> bool {
        false
    }

    async fn call(&self, args: Value) -> Result<Value, ToolError> {
        self.handler.call(args).await
    }

    /// Calls the closure directly, without the context. Not an `async fn`, which would allocate a
    /// second future that only waits for the closure's.
    fn invoke<'a, 'b>(
        &'a self,
        args: Value,
        _context: ToolContext,
    ) -> Pin<Box<dyn Future<Output = ToolOutcome> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        self.handler.invoke(args)
    }
}
