//! The blocks about kinds of tool.

use std::sync::Arc;

use async_trait::async_trait;
use recount::prelude::*;
use serde_json::json;
use tokio::sync::{broadcast, mpsc};

use super::stage::{Stage, dispatcher};

#[tokio::test]
async fn a_closure_with_a_schema_is_a_tool() {
    use recount::tool::SimpleTool;
    use serde_json::json;

    let weather = SimpleTool::new(
        "get_weather",
        "Get current weather for a city",
        Some(json!({
            "type": "object",
            "properties": {
                "city": { "type": "string", "description": "City name" }
            },
            "required": ["city"]
        })),
        |args| async move {
            let city = args["city"].as_str().unwrap_or("Unknown");
            Ok(json!({ "city": city, "temperature_c": 22, "condition": "Partly cloudy" }))
        },
    );

    let tools = dispatcher(weather);
    let told = tools
        .call_function("get_weather", json!({"city": "Oslo"}))
        .await;
    assert_eq!(told.unwrap()["city"], "Oslo");
    let wrong = tools.call_function("get_weather", json!({})).await;
    assert!(matches!(wrong, Err(ToolError::InvalidArgs(_))), "{wrong:?}");
    let parameterless = SimpleTool::new("now", "Tells the time", None, |_| async { Ok(json!(12)) });
    let tools = dispatcher(parameterless);
    assert_eq!(tools.call_function("now", json!({})).await, Ok(json!(12)));
}

mod typed {
    use super::dispatcher;
    use recount::prelude::ToolError;
    use recount::tool::TypedTool;
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Deserialize, JsonSchema)]
    struct WeatherArgs {
        /// The city to get weather for
        city: String,
        /// Temperature units (celsius or fahrenheit)
        #[serde(default = "default_units")]
        units: String,
    }
    fn default_units() -> String {
        "celsius".to_string()
    }

    #[tokio::test]
    async fn struct_docs_and_defaults_make_schema() {
        let tool = TypedTool::new(
            "get_weather",
            "Get current weather for a city",
            |args: WeatherArgs| async move {
                Ok(serde_json::json!({ "temp": 22, "city": args.city, "units": args.units }))
            },
        );

        let tools = dispatcher(tool);
        let schema = tools.declarations()[0].parameters.clone().unwrap();
        let city = &schema["properties"]["city"];
        assert_eq!(city["description"], "The city to get weather for");
        assert_eq!(schema["required"], json!(["city"]));
        let told = tools
            .call_function("get_weather", json!({"city": "Oslo"}))
            .await;
        assert_eq!(told.unwrap()["units"], "celsius");
        let wrong = tools.call_function("get_weather", json!({"city": 7})).await;
        assert!(matches!(wrong, Err(ToolError::InvalidArgs(_))), "{wrong:?}");
    }
}

mod attribute {
    use recount::prelude::*; // brings `tool`, `ToolError`, `ToolDispatcher`
    use serde_json::{Value, json};
    use std::sync::Arc;

    /// Get the current weather for a city.
    #[tool("Get the current weather for a city")]
    async fn get_weather(city: String, units: Option<String>) -> Result<Value, ToolError> {
        Ok(json!({ "city": city, "temp_c": 22, "units": units.unwrap_or("metric".into()) }))
    }

    #[tokio::test]
    #[expect(unused_must_use, reason = "registration may fail here")]
    async fn async_function_tool_has_optional_parameters() {
        let mut dispatcher = ToolDispatcher::new();
        // The macro emits `fn get_weather() -> impl ToolFunction`.
        dispatcher.register_function(Arc::new(get_weather()));

        let declared = &dispatcher.declarations()[0];
        assert_eq!(declared.name, "get_weather");
        assert_eq!(declared.description, "Get the current weather for a city");
        let told = dispatcher.call_function("get_weather", json!({"city": "Oslo"}));
        let expected = json!({"city": "Oslo", "temp_c": 22, "units": "metric"});
        assert_eq!(told.await, Ok(expected));
    }
}

mod trait_of_functions {
    use super::dispatcher;
    use async_trait::async_trait;
    use recount::tool::ToolError;
    use recount::tool::ToolFunction;
    use serde_json::json;

    /// A stand-in for the connection pool of the block.
    mod sqlx {
        #[derive(Default)]
        pub(super) struct PgPool;
    }

    struct DatabaseLookup {
        #[expect(dead_code, reason = "the block does not query it either")]
        pool: sqlx::PgPool,
    }

    #[async_trait]
    impl ToolFunction for DatabaseLookup {
        fn name(&self) -> &str {
            "lookup_account"
        }
        fn description(&self) -> &str {
            "Look up an account by ID"
        }

        fn parameters(&self) -> Option<serde_json::Value> {
            Some(serde_json::json!({
                "type": "object",
                "properties": { "account_id": { "type": "string" } },
                "required": ["account_id"]
            }))
        }

        async fn call(&self, args: serde_json::Value) -> Result<serde_json::Value, ToolError> {
            let id = args["account_id"]
                .as_str()
                .ok_or_else(|| ToolError::InvalidArgs("missing account_id".into()))?;
            Ok(serde_json::json!({ "account_id": id, "balance": 4250.00 }))
        }
    }

    #[tokio::test]
    async fn a_type_of_ones_own_is_a_tool() {
        let tools = dispatcher(DatabaseLookup { pool: sqlx::PgPool });
        let found = tools.call_function("lookup_account", json!({"account_id": "a7"}));
        let expected = json!({"account_id": "a7", "balance": 4250.0});
        assert_eq!(found.await, Ok(expected));
        let wrong = tools.call_function("lookup_account", json!({})).await;
        assert!(
            matches!(&wrong, Err(ToolError::InvalidArgs(told)) if told.contains("account_id")),
            "{wrong:?}"
        );
    }
}

pub(super) struct ProgressTracker;

#[async_trait]
impl StreamingTool for ProgressTracker {
    fn name(&self) -> &str {
        "track_progress"
    }
    fn description(&self) -> &str {
        "Track a long-running operation"
    }
    fn parameters(&self) -> Option<serde_json::Value> {
        None
    }

    #[expect(unused_variables, reason = "the block does not use its arguments")]
    async fn run(
        &self,
        args: serde_json::Value,
        yield_tx: mpsc::Sender<serde_json::Value>,
    ) -> Result<(), ToolError> {
        for step in 0..5 {
            yield_tx
                .send(json!({ "step": step }))
                .await
                .map_err(|e| ToolError::ExecutionFailed(e.to_string()))?;
        }
        Ok(())
    }
}

#[tokio::test]
async fn each_result_of_a_streaming_tool_reaches_the_model() {
    let builder = Live::builder().tools(T::streaming(Arc::new(ProgressTracker)));
    let stage = Stage::set(builder, &[("track_progress", json!({}))]).await;
    stage.play().await;
    let told = stage.answers("c1");
    let steps: Vec<&Value> = told
        .iter()
        .take(5)
        .map(|(value, _)| &value["step"])
        .collect();
    assert_eq!(steps, [0, 1, 2, 3, 4]);
    assert_eq!(stage.count("tool_yielded").await, 5);
}

struct Listener;

#[async_trait]
impl InputStreamingTool for Listener {
    fn name(&self) -> &str {
        "listen"
    }
    fn description(&self) -> &str {
        "Listens"
    }
    fn parameters(&self) -> Option<Value> {
        None
    }

    #[expect(
        unused_variables,
        reason = "the block says what to do and does nothing"
    )]
    async fn run(
        &self,
        _args: serde_json::Value,
        mut input_rx: broadcast::Receiver<InputEvent>,
        yield_tx: mpsc::Sender<serde_json::Value>,
    ) -> Result<(), ToolError> {
        while let Ok(event) = input_rx.recv().await {
            // Process input events, yield partial results
        }
        Ok(())
    }
}

#[tokio::test]
async fn a_tool_that_hears_the_user_ends_with_the_input() {
    let mut dispatcher = ToolDispatcher::new();
    let registered = dispatcher.register_input_streaming(Arc::new(Listener));
    assert_eq!(registered, Ok(()));
    // A dispatcher on its own has no live input, so the tool ends at once.
    let heard = dispatcher.call_function("listen", json!({})).await;
    assert_eq!(heard, Ok(json!([])));
}

#[tokio::test]
async fn service_side_tools_are_declared_by_methods_or_composed() {
    // Direct methods
    let direct = Live::builder()
        .google_search()
        .code_execution()
        .url_context();

    // Or T:: composition with pipe operator
    let composed =
        Live::builder().with_tools(T::google_search() | T::code_execution() | T::url_context());

    for builder in [direct, composed] {
        let stage = Stage::set(builder, &[]).await;
        let transcript = stage.model.transcript();
        let (_, first) = transcript.received().next().unwrap();
        let sent: Value = serde_json::from_str(&first.encode()).unwrap();
        let declared = json!([{"codeExecution": {}}, {"googleSearch": {}}, {"urlContext": {}}]);
        assert_eq!(sent["setup"]["tools"], declared);
    }
}

#[tokio::test]
async fn code_execution_needs_capable_model_or_override() {
    let builder = || {
        Live::builder()
            .model("gemini-live-2.5-flash")
            .code_execution()
    };
    let model = super::stage::caller(&[]);
    let refused = builder().connect_with(model.clone()).await;
    let told = refused.map(drop).unwrap_err().to_string();
    assert!(
        told.contains("code_execution") && told.contains("capabilities"),
        "{told}"
    );
    let mut capabilities = recount::live::Capabilities::of_model("gemini-live-2.5-flash");
    capabilities.code_execution = true;
    let live = builder().capabilities(capabilities).connect_with(model);
    assert!(live.await.is_ok());
}
