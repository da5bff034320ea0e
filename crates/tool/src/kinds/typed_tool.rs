//! A tool with typed arguments: the Rust type defines the schema, and the closure runs only for
//! calls that fit it.

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
/// The model receives the type's schema. Doc comments of fields are descriptions, and a field with
/// `#[serde(default)]` or of type `Option` is optional. Arguments that do not fit are
/// [`ToolError::InvalidArgs`] with the place, the expected and the found value, and the closure
/// does not run.
///
/// No digit of a number is lost silently. Whole numbers of up to 128 bits are exact in any spelling
/// (`3`, `3.0`). A number that would change as a float or as a [`Value`] (such as 2^70) is invalid.
/// The exact text of the arguments is in the [`ToolContext`]; a [`call`](ToolFunction::call)
/// without a context has only the digits of the `Value`.
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
/// A crate without a dependency on schemars derives with `recount::schemars` and
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

/// Reads the arguments and starts the run.
type Run<C> = Box<dyn Fn(&Json, C) -> Result<Running, Misfit> + Send + Sync>;
type Running = Pin<Box<dyn Future<Output = Result<Value, ToolError>> + Send>>;

impl TypedTool {
    /// Creates a tool from a closure that takes the type.
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

    /// Creates a tool like [`new`](Self::new), from a closure that also receives the context of its
    /// call.
    ///
    /// Without a context, in [`call`](ToolFunction::call), such a tool fails.
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

    /// True if the closure has a context to read the payload from.
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
        // A wrapper of this tool may have changed the value. Then the text no longer holds the
        // arguments of the run.
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

/// Returns the self-contained schema of a type; `None` for a type that accepts anything.
fn parameters<A: JsonSchema>() -> Option<Value> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<A>();
    // The tool has its own name, so the type's name is useless to a model.
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
    ToolError::InvalidArgs(misfit.message(secret))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
#[path = "typed_tool_tests.rs"]
mod tests;
