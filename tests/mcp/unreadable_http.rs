//! Answers over HTTP that cannot be read, as one JSON message and as events.

use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use recount::mcp::McpServer;
use recount::prelude::*;
use tokio::sync::Notify;

use crate::over_http::listening;
use crate::raw_server::bytes;
use crate::unreadable::{HANGS_AFTER, nested, paid, refused, result, with};

/// The forms in which a server answers. A client can ask again for events with an id.
const FORMS: [&str; 3] = ["json", "events", "events with ids"];

/// Answers a request with the text under its method in `frames`.
fn answer(form: &str, frames: &Value, asked: &Value) -> Response {
    let method = asked["method"].as_str().unwrap();
    let usual = match method {
        "initialize" => json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "raw", "version": "1"},
        }),
        "tools/list" => {
            let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
            json!({"tools": [tool("pay"), tool("slow")]})
        }
        _ => json!({"content": []}),
    };
    let usual = result(&usual.to_string());
    let frame = bytes(frames[method].as_str().unwrap_or(&usual), &asked["id"]);
    let (kind, before) = match form {
        "json" => ("application/json", ""),
        "events" => ("text/event-stream", "data: "),
        _ => ("text/event-stream", "id: 1\ndata: "),
    };
    let body = [before.as_bytes(), &frame, b"\n"].concat();
    ([(CONTENT_TYPE, kind)], body).into_response()
}

async fn serving(form: &'static str, frames: Value) -> McpServer {
    let answered = move |body: String| async move {
        let asked: Value = serde_json::from_str(&body).unwrap();
        match asked.get("id") {
            Some(_) => answer(form, &frames, &asked),
            None => StatusCode::ACCEPTED.into_response(),
        }
    };
    let url = listening(Router::new().route("/mcp", post(answered))).await;
    McpServer::http(format!("{url}/mcp"))
}

#[tokio::test]
async fn unreadable_answer_over_http_leaves_the_outcome_unknown() {
    let deep = nested(200);
    for form in FORMS {
        for frame in [
            result(&format!(r#"{{"content":[],"_meta":{{"a":{deep}}}}}"#)),
            result(r#"{"content":[],"_meta":{"a":1e400}}"#),
            result(r#"{"content":[{"type":"text","text":"$BAD"}]}"#),
            result(r#"{"content":[}"#),
            r#"{"jsonrpc":"2.0","result":{"content":[],"_meta":1e400}}"#.to_owned(),
            r#"{"jsonrpc":"2.0","id":$ID,"error":"no"}"#.to_owned(),
            r#"{"error":"internal"}"#.to_owned(),
            r#"[{"jsonrpc":"2.0","id":$ID,"result":1e400}]"#.to_owned(),
        ] {
            let told = paid(serving(form, json!({ "tools/call": frame })).await).await;
            let told = told.unwrap_err();
            assert_eq!(told.kind(), "unknown_outcome", "{form}: {frame}: {told}");
            let words = told.to_string();
            assert!(words.contains("cannot be read"), "{form}: {frame}: {told}");
        }
    }
}

#[tokio::test]
async fn response_without_the_answer_ends_its_request() {
    for form in ["json", "events"] {
        for frame in [
            r#"{"jsonrpc":"2.0","id":999,"result":{"content":[]}}"#,
            r#"{"jsonrpc":"2.0","id":999,"error":{"code":-32603,"message":"no"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/message"}"#,
            "no answer at all",
        ] {
            let told = paid(serving(form, json!({ "tools/call": frame })).await).await;
            let told = told.unwrap_err();
            assert_eq!(told.kind(), "unknown_outcome", "{form}: {frame}: {told}");
        }
    }
}

#[tokio::test]
async fn unreadable_definition_over_http_costs_one_tool() {
    let good = r#"{"name":"good","inputSchema":{"type":"object"}}"#;
    let bad = r#"{"name":"bad","inputSchema":{"type":"object","maximum":1e400}}"#;
    let list = result(&format!(r#"{{"tools":[{bad},{good}]}}"#));
    for form in FORMS {
        let server = serving(form, json!({ "tools/list": list })).await;
        let listed = tokio::time::timeout(HANGS_AFTER, T::mcp(server)).await;
        let tools = listed.expect("it hangs").unwrap();
        let names: Vec<&str> = tools.tools().iter().map(PolicyTool::name).collect();
        assert_eq!(names, ["good"], "{form}");
    }
}

#[tokio::test]
async fn unreadable_list_or_handshake_over_http_fails_at_once() {
    for form in FORMS {
        for method in ["tools/list", "initialize"] {
            let frame = result(r#"{"tools":[],"_meta":{"a":1e400}}"#);
            let told = refused(serving(form, json!({ method: frame })).await).await;
            assert!(
                told.contains("number out of range"),
                "{form}: {method}: {told}"
            );
        }
    }
}

#[tokio::test]
async fn message_of_a_batch_over_http_answers_its_request() {
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/message"}"#;
    let answer = result(r#"{"content":[],"structuredContent":{"a":1}}"#);
    for form in FORMS {
        let frame = format!("[{notification},{answer}]");
        let told = paid(serving(form, json!({ "tools/call": frame })).await).await;
        assert_eq!(told, Ok(json!({"structuredContent": {"a": 1}})), "{form}");
    }
}

/// The page of a proxy, or a result without an id, answers one call while another waits.
#[tokio::test]
async fn unreadable_answer_over_http_costs_no_other_call() {
    let lost = r#"{"jsonrpc":"2.0","result":{"content":[],"_meta":1e400}}"#;
    for (form, status, frame) in [
        ("json", 200, r#"{"error":"internal"}"#),
        ("json", 500, r#"{"error":"internal"}"#),
        (
            "json",
            500,
            r#"{"jsonrpc":"2.0","id":999,"error":{"code":1,"message":"no"}}"#,
        ),
        ("json", 200, lost),
        ("events", 200, lost),
    ] {
        let (came, ends) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (comes, end) = (came.clone(), ends.clone());
        let answered = move |body: String| async move {
            let asked: Value = serde_json::from_str(&body).unwrap();
            let Some(_) = asked.get("id") else {
                return StatusCode::ACCEPTED.into_response();
            };
            match asked["params"]["name"].as_str() {
                Some("pay") => {
                    let mut response = answer(form, &json!({ "tools/call": frame }), &asked);
                    *response.status_mut() = StatusCode::from_u16(status).unwrap();
                    return response;
                }
                Some("slow") => {
                    comes.notify_one();
                    end.notified().await;
                }
                Some(_) | None => {}
            }
            answer(form, &json!({}), &asked)
        };
        let url = listening(Router::new().route("/mcp", post(answered))).await;
        let dispatcher = with(McpServer::http(format!("{url}/mcp"))).await;
        let call = async |name: &str| dispatcher.call_function(name, json!({})).await;
        let others = async {
            came.notified().await;
            let told = call("pay").await.unwrap_err();
            assert_eq!(told.kind(), "unknown_outcome", "{form}: {frame}: {told}");
            ends.notify_one();
        };
        let both = async { tokio::join!(call("slow"), others) };
        let both = tokio::time::timeout(HANGS_AFTER, both).await;
        let (slow, ()) = both.expect("it hangs");
        assert_eq!(
            slow,
            Ok(json!({"content": []})),
            "{form}: {status}: {frame}"
        );
    }
}
