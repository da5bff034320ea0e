//! `#[tool]` turns an async function into a tool: its name, description, argument checks and
//! answers.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

use std::fmt;
use std::sync::Arc;

use recount::prelude::*;
use recount::session::{Seq, SessionId};

/// Get the current weather for a city.
#[tool("Get the current weather for a city")]
async fn get_weather(city: String, units: Option<String>) -> Result<Value, ToolError> {
    Ok(json!({ "city": city, "temp_c": 22, "units": units.unwrap_or("metric".into()) }))
}

mod shop {
    //! Nothing of the prelude is in scope here, nor serde, nor schemars.

    /// Has something delivered.
    ///
    /// As soon as possible.
    ///
    /// # Arguments
    ///
    /// * `order` - The number
    ///   of the order
    /// * `type` - what stands at the parameter itself wins
    /// * `context` - who asks
    #[recount::tool]
    pub(crate) async fn deliver(
        mut order: u128,
        context: recount::ToolContext,
        /// The way it travels
        #[serde(default, rename = "type")]
        r#type: Vec<String>,
    ) -> String {
        order += 1;
        format!("{order} {:?} {}", r#type, context.idempotency_key())
    }
}

fn context() -> ToolContext {
    let session = SessionId(uuid::Uuid::nil());
    ToolContext::new(session, session.call_id(Seq(1)), 1, "key-1")
}

async fn called(tool: impl ToolFunction, args: Value) -> Result<Value, ToolError> {
    tool.call_with_context(args, context()).await
}

#[tokio::test]
async fn the_block_of_the_book_registers_and_answers() {
    let mut dispatcher = ToolDispatcher::new();
    dispatcher
        .register_function(Arc::new(get_weather()))
        .unwrap();
    let declared = &dispatcher.catalog().tools["get_weather"];
    assert_eq!(declared.description, "Get the current weather for a city");
    assert_eq!(
        declared.parameters,
        Some(json!({
            "type": "object",
            "properties": {"city": {"type": "string"}, "units": {"type": ["string", "null"]}},
            "required": ["city"],
        }))
    );
    assert_eq!(
        get_weather().call(json!({"city": "Köln"})).await,
        Ok(json!({"city": "Köln", "temp_c": 22, "units": "metric"}))
    );
    assert_eq!(
        get_weather().call(json!({})).await,
        Err(ToolError::InvalidArgs(
            "/city: expected a value, found nothing".into()
        ))
    );
}

#[tokio::test]
async fn words_come_from_the_docs_and_the_context_from_the_runtime() {
    let tool = shop::deliver();
    assert_eq!(tool.name(), "deliver");
    assert_eq!(
        tool.description(),
        "Has something delivered.\n\nAs soon as possible."
    );
    let schema = tool.parameters().unwrap();
    assert_eq!(
        schema["properties"],
        json!({
            "order": {"type": "integer", "format": "uint128", "minimum": 0,
                "description": "The number of the order"},
            "type": {"type": "array", "items": {"type": "string"}, "default": [],
                "description": "The way it travels"},
        })
    );
    assert_eq!(schema["required"], json!(["order"]));
    assert_eq!(
        called(shop::deliver(), json!({"order": 7, "type": ["air"]})).await,
        Ok(json!("8 [\"air\"] key-1"))
    );
}

#[test]
fn the_attribute_overrides_name_and_description() {
    /// For readers.
    #[tool("For the model", name = "other")]
    async fn one() {}
    #[tool(name = "an.other", description = "For the model, too")]
    async fn two() {}
    assert_eq!(
        (one().name(), one().description()),
        ("other", "For the model")
    );
    assert_eq!(
        (two().name(), two().description()),
        ("an.other", "For the model, too")
    );
}

struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it broke")
    }
}

struct Declined;

impl From<Declined> for ToolError {
    fn from(_: Declined) -> ToolError {
        ToolError::Cancelled("declined".into())
    }
}

/// An alias under another name is a `Result` all the same.
type Answer = Result<u8, Broken>;

#[tokio::test]
async fn every_kind_of_answer_reaches_the_model() {
    #[derive(serde::Serialize)]
    struct Sum {
        sum: i64,
    }
    #[tool("Adds")]
    async fn add(a: i64, b: i64) -> Sum {
        Sum { sum: a + b }
    }
    #[tool("Says nothing")]
    async fn nothing() {}
    #[tool("Breaks")]
    async fn breaks() -> Answer {
        Err(Broken)
    }
    #[tool("Does not break")]
    async fn holds() -> Answer {
        Ok(7)
    }
    #[tool("Declines")]
    async fn declines() -> Result<Sum, Declined> {
        Err(Declined)
    }
    #[tool("Keeps its kind")]
    async fn keeps(after: u64) -> Result<(), ToolError> {
        Err(ToolError::Timeout(std::time::Duration::from_secs(after)))
    }
    #[tool("Returns what JSON has no number for")]
    async fn vast() -> Result<u128, ToolError> {
        Ok(u128::MAX)
    }
    assert_eq!(
        add().call(json!({"a": 1, "b": 2})).await,
        Ok(json!({"sum": 3}))
    );
    assert_eq!(nothing().call(json!({})).await, Ok(Value::Null));
    assert_eq!(
        breaks().call(json!({})).await,
        Err(ToolError::ExecutionFailed("it broke".into()))
    );
    assert_eq!(holds().call(json!({})).await, Ok(json!(7)));
    assert_eq!(
        declines().call(json!({})).await,
        Err(ToolError::Cancelled("declined".into()))
    );
    assert_eq!(
        keeps().call(json!({"after": 3})).await,
        Err(ToolError::Timeout(std::time::Duration::from_secs(3)))
    );
    assert_eq!(
        vast().call(json!({})).await.unwrap_err().kind(),
        "execution_failed"
    );
}

#[test]
fn a_tool_of_a_function_goes_wherever_a_tool_goes() {
    let tools = T::confirm(get_weather(), "Look outside?") | shop::deliver();
    let names: Vec<_> = tools
        .tools()
        .iter()
        .map(|it| it.declaration().name)
        .collect();
    assert_eq!(names, ["get_weather", "deliver"]);
}
