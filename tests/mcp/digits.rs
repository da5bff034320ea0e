//! Numbers on the way to a server and back equal the recorded numbers.

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::post;
use recount::mcp::McpServer;
use recount::prelude::*;
use recount::session::{Event, Json, Observation};

use crate::over_http::listening;

/// Structured content whose numbers and member order a parsed value does not keep.
const CONTENT: &str = r#"{"to":"bob","cents":20000000000000000001,"rate":1.50,"least":[1e-400]}"#;

/// Answers one request of a client; the result of a call is `content`.
fn answer(request: &str, content: &str) -> String {
    let request: Value = serde_json::from_str(request).unwrap();
    let id = &request["id"];
    let result = match request["method"].as_str().unwrap() {
        "initialize" => json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "raw", "version": "1"},
        })
        .to_string(),
        "tools/list" => {
            json!({"tools": [{"name": "pay", "inputSchema": {"type": "object"}}]}).to_string()
        }
        "tools/call" => format!(r#"{{"content":[],"structuredContent":{content}}}"#),
        _ => {
            let error = r#"{"code":-32601,"message":"no such method"}"#;
            return format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#);
        }
    };
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// No test of its own: other tests start it as a server process.
#[test]
fn serves_raw_lines() {
    let Ok(content) = std::env::var("RAW_CONTENT") else {
        return;
    };
    // Ends the line that the test harness has begun, which is no message.
    println!();
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        if line.contains("\"id\"") {
            println!("{}", answer(&line, &content));
        }
    }
}

fn over_stdio(content: &str) -> McpServer {
    let program = std::env::current_exe().unwrap();
    let args = ["--exact", "digits::serves_raw_lines", "--nocapture"];
    McpServer::stdio(program.to_str().unwrap(), args).env("RAW_CONTENT", content)
}

async fn over_http(content: &'static str, kind: &'static str) -> McpServer {
    let answered = move |body: String| async move {
        if !body.contains("\"id\"") {
            return axum::http::StatusCode::ACCEPTED.into_response();
        }
        let message = answer(&body, content);
        // A mixed server answers calls with events, and other requests with one message.
        let kind = match kind {
            "mixed" if body.contains("tools/call") => "text/event-stream",
            "mixed" => "application/json",
            kind => kind,
        };
        let text = match kind {
            "text/event-stream" => format!("data: {message}\n\n"),
            _ => message,
        };
        ([(CONTENT_TYPE, kind)], text).into_response()
    };
    let url = listening(Router::new().route("/mcp", post(answered))).await;
    McpServer::http(format!("{url}/mcp"))
}

/// The first result on record.
async fn recorded(server: McpServer) -> Json {
    let mut tools = ToolDispatcher::new();
    tools.register(T::mcp(server).await.unwrap()).unwrap();
    let _ = tools.call_function("pay", json!({})).await;
    let facts = tools.recorded();
    let mut returned = facts.iter().filter_map(|fact| match &fact.event {
        Event::Observed(Observation::ToolReturned(it)) => Some(it.response.clone()),
        Event::Observed(_) | Event::Decided(_) => None,
    });
    returned.next().unwrap()
}

#[tokio::test]
async fn structured_content_is_recorded_as_it_came() {
    let expected = format!(r#"{{"structuredContent":{CONTENT}}}"#);
    for server in [
        over_stdio(CONTENT),
        over_http(CONTENT, "text/event-stream").await,
        over_http(CONTENT, "application/json").await,
        over_http(CONTENT, "mixed").await,
    ] {
        assert_eq!(recorded(server).await.as_str(), expected);
    }
}

#[tokio::test]
async fn secret_is_taken_out_and_the_digits_stay() {
    let content = r#"{"cents":20000000000000000001,"token":"s3cret-token"}"#;
    let server = over_stdio(content).env("TOKEN", "s3cret-token");
    let expected = r#"{"structuredContent":{"cents":20000000000000000001,"token":"[hidden]"}}"#;
    assert_eq!(recorded(server).await.as_str(), expected);
}

#[tokio::test]
async fn content_that_no_record_carries_fails_the_call() {
    let deep = "[".repeat(200) + &"]".repeat(200);
    for (content, words) in [
        (deep.as_str(), "deeper than 64 levels"),
        (r#"{"a":1,"a":2}"#, "twice"),
        ("[1e999]", "number out of range"),
    ] {
        let told = recorded(over_stdio(content)).await;
        assert!(told.as_str().contains(words), "{words}: {told}");
    }
}

#[tokio::test]
async fn argument_that_a_server_would_get_rounded_is_refused() {
    let mut tools = ToolDispatcher::new();
    tools
        .register(T::mcp(over_stdio("{}")).await.unwrap())
        .unwrap();
    let args = json!(r#"{"cents":20000000000000000001}"#);
    let refused = tools.call_function("pay", args).await.unwrap_err();
    assert_eq!(refused.kind(), "invalid_args");
    assert!(refused.to_string().contains("/cents: "), "{refused}");
}
