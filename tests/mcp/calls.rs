//! Calls of MCP tools, and their outcomes.

use std::time::Duration;

use recount::prelude::*;

use crate::server::stdio;

async fn connected(config: Value) -> ToolDispatcher {
    let mut tools = ToolDispatcher::new();
    tools
        .register(T::mcp(stdio(&config)).await.unwrap())
        .unwrap();
    tools
}

#[tokio::test]
async fn answer_of_server_is_the_result_or_a_failure() {
    let tools = connected(json!({})).await;
    let call = async |name: &str, args: Value| tools.call_function(name, args).await;
    assert_eq!(
        call("echo", json!({"a": [1, "b"]})).await,
        Ok(json!({"structuredContent": {"a": [1, "b"]}}))
    );
    assert_eq!(
        call("picture", json!({})).await,
        Ok(json!({"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]}))
    );
    assert_eq!(
        call("fail", json!({})).await,
        Err(ToolError::ExecutionFailed("the disk is full".into()))
    );
    assert_eq!(
        call("echo", json!({"wrong": true})).await,
        Err(ToolError::InvalidArgs("wrong is never right".into()))
    );
    let unasked = call("env", json!({})).await.unwrap_err();
    assert_eq!(unasked.kind(), "invalid_args");
}

#[tokio::test]
async fn server_gets_only_its_environment_and_its_secret_is_hidden() {
    let server = stdio(&json!({}))
        .env("TOKEN", "s3cret-token")
        .inherit_env(["CARGO_PKG_NAME"]);
    let mut tools = ToolDispatcher::new();
    tools.register(T::mcp(server).await.unwrap()).unwrap();
    let value = async |name: &str| {
        let found = tools.call_function("env", json!({"name": name})).await;
        found.unwrap()["structuredContent"]["value"].clone()
    };
    assert_eq!(value("TOKEN").await, "[hidden]");
    assert_eq!(value("CARGO_PKG_NAME").await, "recount");
    assert!(value("PATH").await.is_string());
    // Cargo has set this variable for the test process.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    assert_eq!(value("CARGO_MANIFEST_DIR").await, Value::Null);
}

#[tokio::test]
async fn server_death_in_call_is_unknown_outcome_and_next_restarts_it() {
    let tools = connected(json!({})).await;
    let pid = async || tools.call_function("pid", json!({})).await.unwrap();
    let first = pid().await;
    assert_eq!(pid().await, first);
    let died = tools.call_function("die", json!({})).await.unwrap_err();
    assert_eq!(died.kind(), "unknown_outcome");
    assert!(
        died.to_string()
            .starts_with("the MCP server \"test\" was lost during the call"),
        "{died}"
    );
    assert_ne!(pid().await, first);
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_cancelled_at_the_server() {
    let server = stdio(&json!({}));
    let limited = T::mcp(server.clone().timeout(Duration::from_millis(5))).await;
    assert!(
        limited
            .unwrap()
            .tools()
            .iter()
            .all(|it| it.policy().timeout == Some(Duration::from_millis(5)))
    );
    let mut tools = ToolDispatcher::new();
    tools.register(T::mcp(server).await.unwrap()).unwrap();
    let limit = Duration::from_millis(50);
    let late = tools
        .call_function_with_timeout("hang", json!({}), limit)
        .await
        .unwrap_err();
    assert_eq!(late.kind(), "timeout");
    // The tool answers once the server knows that the other call was cancelled.
    let heard = tools.call_function("cancelled", json!({})).await;
    assert_eq!(heard, Ok(json!({"content": []})));
}

#[tokio::test]
async fn a_tool_that_the_server_defines_anew_is_not_called() {
    let tools = connected(json!({})).await;
    let echo = async || tools.call_function("echo", json!({})).await;
    echo().await.unwrap();
    tools.call_function("redefine", json!({})).await.unwrap();
    // The notice of the change may arrive after the answer.
    let refused = refused(echo).await;
    assert_eq!(refused.kind(), "not_available");
    assert!(
        refused
            .to_string()
            .contains("defines the tool \"echo\" otherwise"),
        "{refused}"
    );
    // Other tools are unchanged.
    tools.call_function("pid", json!({})).await.unwrap();
}

/// Calls until a call is rejected, and returns the error. Earlier calls may still succeed.
async fn refused(call: impl AsyncFn() -> Result<Value, ToolError>) -> ToolError {
    for _ in 0..CALLS_MAX {
        if let Err(refused) = call().await {
            return refused;
        }
    }
    panic!("no call is refused");
}

const CALLS_MAX: usize = 10_000;

#[tokio::test]
async fn tool_list_change_is_kept_if_server_cannot_be_asked() {
    let tools = connected(json!({})).await;
    let echo = async || tools.call_function("echo", json!({})).await;
    let late = tools.call_function("redefine_late", json!({})).await;
    late.unwrap();
    let first = refused(echo).await.to_string();
    assert!(
        first.contains("is not there") && first.contains("kaput"),
        "{first}"
    );
    let then = echo().await.unwrap_err().to_string();
    assert!(
        then.contains("defines the tool \"echo\" otherwise"),
        "{then}"
    );
}

#[tokio::test]
async fn an_engine_that_shuts_down_ends_the_program() {
    let place = tempfile::tempdir().unwrap();
    let witness = place.path().join("witness");
    let tools = T::mcp(stdio(&json!({"witness": witness}))).await.unwrap();
    let agent = Agent::new().model("m").tools(tools.clone());
    let engine = Engine::in_memory().agent("a", agent).open().await.unwrap();
    engine.shutdown(Duration::ZERO).await.unwrap();
    let noted = std::fs::read_to_string(&witness).unwrap();
    assert_eq!(noted, "ended\n");
    // The same tools serve the next dispatcher.
    let mut next = ToolDispatcher::new();
    next.register(tools).unwrap();
    next.call_function("pid", json!({})).await.unwrap();
}

#[tokio::test]
async fn question_is_declined_without_approver() {
    let tools = connected(json!({})).await;
    let answer = tools.call_function("ask", json!({})).await.unwrap();
    assert_eq!(answer["structuredContent"]["action"], "decline");
}
