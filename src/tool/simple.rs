//! A tool made of a closure.

use std::fmt;
use std::pin::Pin;

use async_trait::async_trait;
use serde_json::Value;

use super::{ToolContext, ToolError, ToolFunction, ToolOutcome};

/// A tool made of an async closure from arguments to result.
///
/// ```
/// use recount::tool::SimpleTool;
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
    handler: Box<dyn Fn(Value) -> Running + Send + Sync>,
}

type Running = Pin<Box<dyn Future<Output = Result<Value, ToolError>> + Send>>;

impl SimpleTool {
    /// Makes a tool; without `parameters` it takes any object.
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
            handler: Box::new(move |args| Box::pin(handler(args))),
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

    async fn call(&self, args: Value) -> Result<Value, ToolError> {
        (self.handler)(args).await
    }

    /// Straight to the closure, which wants no context: two futures less on the heap.
    async fn invoke(&self, args: Value, _context: ToolContext) -> ToolOutcome {
        (self.handler)(args).await.into()
    }
}
