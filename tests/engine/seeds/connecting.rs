//! The ends of the blocks that connect to a service, which no test may reach.

use std::sync::Arc;

use recount::prelude::*;

struct MyFormatter;

impl ResultFormatter for MyFormatter {
    fn format_running(&self, call: &FunctionCall) -> Value {
        json!({ "tool": call.name })
    }
    fn format_result(&self, _: &FunctionCall, _: Result<Value, ToolError>) -> Value {
        json!({})
    }
    fn format_cancelled(&self, call_id: &str) -> Value {
        json!({ "cancelled": call_id })
    }
}

async fn by_the_environment(
    dispatcher: ToolDispatcher,
) -> Result<LiveHandle, recount::engine::Error> {
    Live::builder()
        .tools(dispatcher)
        .tool_background("search_kb") // WhenIdle scheduling by default
        .tool_background_with_scheduling(
            "log_event",
            FunctionResponseScheduling::Silent, // quiet integration
        )
        .connect_from_env()
        .await
}

async fn on_vertex(
    dispatcher: ToolDispatcher,
    (project, location, token): (&str, &str, &'static str),
) -> Result<LiveHandle, recount::engine::Error> {
    Live::builder()
        .tools(dispatcher)
        .tool_background("search_knowledge_base")
        .tool_background_with_formatter("analyze_doc", Arc::new(MyFormatter))
        .connect_vertex(project, location, token)
        .await
}

#[tokio::test]
async fn a_mistake_is_found_before_anything_is_connected_to() {
    // The tool and the model are missing, so no connection is attempted.
    let by_environment = by_the_environment(ToolDispatcher::new()).await;
    let told = by_environment.map(drop).unwrap_err().to_string();
    assert!(
        told.contains("search_kb") && told.contains("log_event"),
        "{told}"
    );
    let on_vertex = on_vertex(ToolDispatcher::new(), ("project", "global", "token")).await;
    let told = on_vertex.map(drop).unwrap_err().to_string();
    assert!(
        told.contains("analyze_doc") && told.contains("no model"),
        "{told}"
    );
}
