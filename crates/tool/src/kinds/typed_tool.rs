//! A tool made of a Rust type: the type is the schema, and a call that does not fit it never
//! reaches the closure.

use std::fmt;
use std::pin::Pin;

use async_trait::async_trait;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::function::ToolFunction;
use crate::run::context::ToolContext;
use crate::run::error::ToolError;
use crate::typed::digits::is_text_of;
use crate::typed::misfit::Misfit;
use recount_session::Json;

/// A tool whose arguments are a Rust type.
///
/// The type's schema is what the model is told: doc comments of fields are descriptions, and a
/// field with `#[serde(default)]` or of type `Option` may be left out. Arguments that do not fit
/// are [`ToolError::InvalidArgs`] with the place, what was expected and what came, and the closure
/// does not run.
///
/// No digit of a number is lost silently. Whole numbers of up to 128 bits are exact, however they
/// are spelt (`3`, `3.0`); a number that would be another one as a float, or as a [`Value`] (such
/// as 2^70), is invalid. The exact text of the arguments is in the [`ToolContext`]; a
/// [`call`](ToolFunction::call) without one has what the `Value` holds.
///
/// ```
/// use recount_tool::TypedTool;
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct WeatherArgs {
///     /// The city to get weather for
///     city: String,
///     /// Temperature units (celsius or fahrenheit)
///     #[serde(default = "default_units")]
///     units: String,
/// }
/// fn default_units() -> String { "celsius".to_string() }
///
/// let tool = TypedTool::new(
///     "get_weather",
///     "Get current weather for a city",
///     |args: WeatherArgs| async move {
///         Ok(serde_json::json!({ "temp": 22, "city": args.city, "units": args.units }))
///     },
/// );
/// # use recount_tool::ToolFunction;
/// # use serde_json::json;
/// assert_eq!(
///     tool.parameters(),
///     Some(json!({
///         "type": "object",
///         "properties": {
///             "city": {"type": "string", "description": "The city to get weather for"},
///             "units": {
///                 "type": "string",
///                 "description": "Temperature units (celsius or fahrenheit)",
///                 "default": "celsius"
///             }
///         },
///         "required": ["city"]
///     }))
/// );
/// ```
///
/// An embedder without a dependency on schemars derives with `recount::schemars` and
/// `#[schemars(crate = "recount::schemars")]`.
pub struct TypedTool {
    name: String,
    description: String,
    parameters: Option<Value>,
    handler: Handler,
}

enum Handler {
    Plain(Run<()>),
    WithContext(Run<ToolContext>),
}

/// Reads the arguments and begins the run.
type Run<C> = Box<dyn Fn(&Json, C) -> Result<Running, Misfit> + Send + Sync>;
type Running = Pin<Box<dyn Future<Output = Result<Value, ToolError>> + Send>>;

impl TypedTool {
    /// Makes a tool of a closure that takes the type.
    pub fn new<A, F, Fut>(
        name: impl Into<String>,
        description: impl Into<String>,
        handler: F,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema,
        F: Fn(A) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, ToolError>> + Send + 'static,
    {
        let parameters = parameters::<A>();
        let schema = parameters.clone();
        let run: Run<()> = Box::new(move |args, ()| {
            read(schema.as_ref(), args).map(|args: A| -> Running { Box::pin(handler(args)) })
        });
        Self {
            name: name.into(),
            description: description.into(),
            parameters,
            handler: Handler::Plain(run),
        }
    }

    /// As [`new`](Self::new), of a closure that is also told which call it serves.
    ///
    /// Such a tool fails where there is no call to serve, in [`call`](ToolFunction::call).
    ///
    /// ```
    /// use recount_tool::{ToolContext, TypedTool};
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    /// use serde_json::json;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Payment { cents: u64 }
    ///
    /// let pay = TypedTool::with_context("pay", "Pays", |payment: Payment, context: ToolContext| async move {
    ///     // The service behind it knows the key, so a retry does not pay twice.
    ///     Ok(json!({"paid": payment.cents, "key": context.idempotency_key()}))
    /// });
    /// ```
    pub fn with_context<A, F, Fut>(
        name: impl Into<String>,
        description: impl Into<String>,
        handler: F,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema,
        F: Fn(A, ToolContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, ToolError>> + Send + 'static,
    {
        let parameters = parameters::<A>();
        let schema = parameters.clone();
        let run: Run<ToolContext> = Box::new(move |args, context| {
            read(schema.as_ref(), args)
                .map(|args: A| -> Running { Box::pin(handler(args, context)) })
        });
        Self {
            name: name.into(),
            description: description.into(),
            parameters,
            handler: Handler::WithContext(run),
        }
    }
}

impl fmt::Debug for TypedTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedTool")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl ToolFunction for TypedTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn parameters(&self) -> Option<Value> {
        self.parameters.clone()
    }

    fn reads_text(&self) -> bool {
        true
    }

    /// A closure without a context has no way to see it.
    fn takes_confirmation(&self) -> bool {
        match &self.handler {
            Handler::Plain(_) => false,
            Handler::WithContext(_) => true,
        }
    }

    async fn call(&self, args: Value) -> Result<Value, ToolError> {
        match &self.handler {
            Handler::Plain(run) => {
                let running = run(&Json::of(&args), ());
                running.map_err(|misfit| invalid(&misfit, &[]))?.await
            }
            Handler::WithContext(_) => Err(ToolError::ExecutionFailed(format!(
                "tool {:?} must know which call it serves: run it with a ToolContext",
                self.name
            ))),
        }
    }

    async fn call_with_context(
        &self,
        args: Value,
        context: ToolContext,
    ) -> Result<Value, ToolError> {
        // Whoever wraps a tool may have changed the value; then the text is not what it is to run
        // with.
        let text = context.args.clone().filter(|text| is_text_of(text, &args));
        let text = text.unwrap_or_else(|| Json::of(&args));
        let secret = context.secret.clone();
        let running = match &self.handler {
            Handler::Plain(run) => run(&text, ()),
            Handler::WithContext(run) => run(&text, context),
        };
        running.map_err(|misfit| invalid(&misfit, &secret))?.await
    }
}

/// The schema of a type, whole in itself; none for a type that takes anything.
fn parameters<A: JsonSchema>() -> Option<Value> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<A>();
    // The type's own name says nothing to a model that the tool's does not.
    schema.remove("title");
    let keywords = schema.as_object().filter(|it| !it.is_empty());
    keywords.cloned().map(Value::Object)
}

fn read<A: DeserializeOwned>(schema: Option<&Value>, args: &Json) -> Result<A, Misfit> {
    let read = crate::typed::reader::read(args)?;
    if let Some(schema) = schema {
        crate::typed::float_places::check(schema, args)?;
    }
    Ok(read)
}

fn invalid(misfit: &Misfit, secret: &[String]) -> ToolError {
    ToolError::InvalidArgs(misfit.told(secret))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
#[path = "typed_tool_tests.rs"]
mod tests;
