//! Frames that the library cannot read: each ends its own request, and the error shows the frame.

use std::time::Duration;

use recount::mcp::{McpError, McpServer};
use recount::prelude::*;

use crate::server::stdio;

/// A time that no call takes unless a frame makes it wait forever.
pub(crate) const HANGS_AFTER: Duration = Duration::from_secs(20);

fn raw(told: Value) -> McpServer {
    stdio(&json!({ "raw": told }))
}

/// A dispatcher with the tools of a server.
pub(crate) async fn with(server: McpServer) -> ToolDispatcher {
    let mut dispatcher = ToolDispatcher::new();
    dispatcher.register(T::mcp(server).await.unwrap()).unwrap();
    dispatcher
}

/// The outcome of a call of `pay`.
pub(crate) async fn paid(server: McpServer) -> Result<Value, ToolError> {
    let dispatcher = with(server).await;
    let called = dispatcher.call_function("pay", json!({}));
    let called = tokio::time::timeout(HANGS_AFTER, called).await;
    called.expect("it hangs")
}

fn answering(frame: &str) -> McpServer {
    let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
    let tools = ["pay", "slow", "finish"].map(tool);
    raw(json!({"tools": tools, "frames": {"pay": frame}}))
}

/// The error of a call that is answered with `frame`.
async fn failed(frame: &str) -> ToolError {
    paid(answering(frame)).await.unwrap_err()
}

/// The error with which a server is rejected.
pub(crate) async fn refused(server: McpServer) -> String {
    let taken = tokio::time::timeout(HANGS_AFTER, T::mcp(server)).await;
    taken.expect("it hangs").unwrap_err().to_string()
}

pub(crate) fn nested(levels: usize) -> String {
    "[".repeat(levels) + &"]".repeat(levels)
}

pub(crate) fn result(result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{result}}}"#)
}

#[tokio::test]
async fn unreadable_answer_leaves_the_outcome_unknown() {
    let deep = nested(200);
    for frame in [
        result(&format!(r#"{{"content":[],"_meta":{{"a":{deep}}}}}"#)),
        result(&format!(
            r#"{{"content":[{{"type":"text","text":"x","_meta":{{"a":{deep}}}}}]}}"#
        )),
        result(r#"{"content":[],"_meta":{"a":1e400}}"#),
        result(r#"{"content":[{"type":"text","text":"\ud800"}]}"#),
        result(r#"{"content":[{"type":"text","text":"$BAD"}]}"#),
        result(r#"{"content":[}"#),
        r#"{"result":{"content":[],"_meta":1e400},"jsonrpc":"2.0","id":$ID}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":$ID,"error":{"code":"x","message":5}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":$ID,"error":"no"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":$ID,"result":{},"error":{"code":1,"message":"x"}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":$ID}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":"$ID","result":{"content":[],"_meta":1e400}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":$ID.0,"result":{"content":[],"_meta":1e400}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":$ID,"method":"tools/call","result":{"content":[]}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":$ID,"method":"x","result":{"content":[]}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":$ID,"method":"x","error":null}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":$ID,"error":null}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[]},"error":null}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":$ID,"id":999,"result":{"content":[]}}"#.to_owned(),
        r#"{"jsonrpc":"1.0","id":$ID,"result":{"content":[]}}"#.to_owned(),
        r#"{"id":$ID,"result":{"content":[]}}"#.to_owned(),
        r#"{"id":"$ID"}"#.to_owned(),
        r#"[{"jsonrpc":"2.0","id":$ID,"result":{"content":[],"_meta":1e400}}]"#.to_owned(),
    ] {
        let told = failed(&frame).await;
        assert_eq!(told.kind(), "unknown_outcome", "{told}");
        assert!(told.to_string().contains("cannot be read"), "{told}");
    }
}

/// None of these frames answers a waiting call; the message after each does.
#[tokio::test]
async fn unreadable_frame_ends_no_other_request() {
    let answer = result(r#"{"content":[],"structuredContent":{"a":1}}"#);
    for before in [
        r#"{"jsonrpc":"2.0","id":999,"result":{"content":[],"_meta":1e400}}"#,
        r#"{"jsonrpc":"2.0","id":"x","error":"no"}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no such method"}}"#,
        r#"{"jsonrpc":"2.0","error":"no"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":1e400}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":"$BAD"}"#,
        "ready to serve",
        r#"sent {"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}"#,
        r#"{"jsonrpc":"2.0"}"#,
        r#"{"level":"info","message":"ready"}"#,
        "null",
        "7",
        "[",
        "",
    ] {
        let dispatcher = with(answering(&format!("{before}\n{answer}"))).await;
        let call = async |name: &str| dispatcher.call_function(name, json!({})).await;
        let others = async {
            let told = call("pay").await;
            assert_eq!(told, Ok(json!({"structuredContent": {"a": 1}})), "{before}");
            call("finish").await.unwrap();
        };
        let (slow, ()) = tokio::join!(call("slow"), others);
        assert!(slow.is_ok(), "{before}: {slow:?}");
    }
}

#[tokio::test]
async fn noise_is_ignored_with_a_log_line() {
    let written = tempfile::NamedTempFile::new().unwrap();
    let writer = written.reopen().unwrap();
    let subscriber = tracing_subscriber::fmt().with_writer(writer);
    let _logs = tracing::subscriber::set_default(subscriber.finish());
    let noise = "x".repeat(777);
    let answer = result(r#"{"content":[]}"#);
    paid(answering(&format!("{noise}\n{answer}")))
        .await
        .unwrap();
    let logged = std::fs::read_to_string(written.path()).unwrap();
    let expected = "a frame of a server was ignored: it is no message bytes=777";
    assert_eq!(logged.matches(expected).count(), 1, "{logged}");
    assert!(!logged.contains("xxx"), "{logged}");
}

#[tokio::test]
async fn unreadable_answer_costs_no_other_call() {
    let dispatcher = with(answering(&result(r#"{"content":[}"#))).await;
    let call = async |name: &str| dispatcher.call_function(name, json!({})).await;
    let others = async {
        assert_eq!(call("pay").await.unwrap_err().kind(), "unknown_outcome");
        call("finish").await.unwrap();
    };
    let (slow, ()) = tokio::join!(call("slow"), others);
    assert_eq!(slow.unwrap()["content"][0]["text"], "done");
}

/// Without the rejection the server would wait for its answer, and the call for the server.
#[tokio::test]
async fn unreadable_request_of_the_server_is_refused() {
    let asks = r#"{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"a":1e400}}"#;
    let told = paid(answering(asks)).await.unwrap();
    let refused = &told["structuredContent"];
    assert_eq!(refused["id"], "q1");
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
}

#[tokio::test]
async fn message_of_a_batch_answers_its_request() {
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/message"}"#;
    let answer = result(r#"{"content":[],"structuredContent":{"a":1}}"#);
    let told = paid(answering(&format!("[{notification}, {answer}]"))).await;
    assert_eq!(told, Ok(json!({"structuredContent": {"a": 1}})));
}

#[tokio::test]
async fn unreadable_handshake_fails_at_once() {
    for frame in [
        result("1e400"),
        r#"{"jsonrpc":"2.0","result":1e400}"#.to_owned(),
    ] {
        let told = refused(raw(json!({ "frames": {"initialize": frame} }))).await;
        assert!(told.contains("cannot be read"), "{told}");
    }
}

#[tokio::test]
async fn unreadable_answer_without_an_id_ends_what_waits() {
    for frame in [
        r#"{"jsonrpc":"2.0","result":{"content":[],"_meta":{"a":1e400}}}"#,
        r#"{"jsonrpc":"2.0","id":null,"result":{"content":[]}}"#,
    ] {
        assert_eq!(failed(frame).await.kind(), "unknown_outcome", "{frame}");
    }
}

#[tokio::test]
async fn result_that_is_malformed_leaves_the_outcome_unknown() {
    for said in [
        r#"{"content":[],"structuredContent":{"a":1,"a":2}}"#,
        r#"{"content":[],"structuredContent":{"a":1e400}}"#,
        &format!(r#"{{"content":[],"structuredContent":{}}}"#, nested(80)),
        r#"{"content":[{"type":"text","text":"t"}],"isError":"yes"}"#,
        r#"{"content":[{"type":"text","text":"a","text":"b"}]}"#,
        r#"{"content":[{"type":"text","text":"$LONG"}]}"#,
        r#"{"content":[],"structuredContent":"$QUOTES"}"#,
    ] {
        let told = failed(&result(said)).await;
        assert_eq!(told.kind(), "unknown_outcome", "{said}: {told}");
    }
}

#[tokio::test]
async fn unreadable_definition_costs_one_tool() {
    let deep = r#"{"type":"object","properties":{"a":"#.repeat(80) + "{}" + &"}}".repeat(80);
    for tool in [
        r#"{"name":"bad","inputSchema":{"type":"object","maximum":1e400}}"#,
        r#"{"name":"bad","description":"\ud800","inputSchema":{"type":"object"}}"#,
        r#"{"name":"bad","inputSchema":{"type":"object","type":"object"}}"#,
        &format!(r#"{{"name":"bad","inputSchema":{deep}}}"#),
    ] {
        let good = r#"{"name":"good","inputSchema":{"type":"object"}}"#;
        let list = result(&format!(r#"{{"tools":[{good},{tool}]}}"#));
        let server = || raw(json!({ "frames": {"tools/list": list} }));
        let listed = tokio::time::timeout(HANGS_AFTER, T::mcp(server())).await;
        let tools = listed.unwrap_or_else(|_| panic!("{tool} hangs")).unwrap();
        let names: Vec<&str> = tools.tools().iter().map(PolicyTool::name).collect();
        assert_eq!(names, ["good"], "{tool}");
        let Err(McpError::Tools { mistakes, .. }) = T::mcp(server().strict()).await else {
            panic!("{tool} was taken");
        };
        let told = mistakes[0].to_string();
        assert!(
            told.contains("\"bad\"") && told.contains("cannot be read"),
            "{told}"
        );
    }
}

#[tokio::test]
async fn unreadable_list_fails_at_once_with_what_came() {
    let bad = r#"{"name":"bad","inputSchema":{"type":"object","maximum":1e400}}"#;
    for list in [
        result(r#"{"tools":[],"_meta":{"a":1e400}}"#),
        result(&format!(r#"{{"tools":[{bad}],"_meta":{{"a":1e400}}}}"#)),
        result("{\"tools\":[}"),
        r#"{"jsonrpc":"2.0","result":{"tools":[],"tools":[]}}"#.to_owned(),
    ] {
        let told = refused(raw(json!({ "frames": {"tools/list": list} }))).await;
        assert!(told.contains("cannot be read"), "{list}: {told}");
    }
}
