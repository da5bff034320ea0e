//! Questions of a server: the call for which it asks, and what an approver sees.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use recount::mcp::McpServer;
use recount::prelude::*;

use crate::asking_server::QUESTIONS;
use crate::server::stdio;
use crate::survives::model;

/// The tools of a server, with a provider that confirms everything, and the list of its questions.
pub(crate) async fn agreeing(server: McpServer) -> (ToolDispatcher, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let noted = asked.clone();
    let provider = move |request: ConfirmationRequest| {
        noted.lock().unwrap().push(format!("{request:?}"));
        async { ToolConfirmation::confirmed().with_payload(json!({"table": 7})) }
    };
    let mut tools = ToolDispatcher::new().with_confirmation_provider(Arc::new(provider));
    tools.register(T::mcp(server).await.unwrap()).unwrap();
    (tools, asked)
}

#[tokio::test]
async fn question_of_cancelled_call_is_not_asked_through_another() {
    let (tools, asked) = agreeing(stdio(&json!({}))).await;
    let limit = Duration::from_millis(50);
    let given_up = tools.call_function_with_timeout("linger", json!({}), limit);
    assert_eq!(given_up.await.unwrap_err().kind(), "timeout");
    let another = tools.call_function("another", json!({})).await.unwrap();
    assert_eq!(another["structuredContent"], json!({"accepted": false}));
    assert_eq!(asked.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn questions_in_reply_to_call_are_asked_one_by_one() {
    let (tools, asked) = agreeing(stdio(&json!({"asks": true}))).await;
    let booked = tools.call_function("book", json!({})).await.unwrap();
    let yes = json!({"action": "accept", "content": {"table": 7}});
    assert_eq!(booked["structuredContent"]["answers"], json!([yes, yes]));
    let asked = asked.lock().unwrap().clone();
    assert_eq!(asked.len(), QUESTIONS.len());
    for (asked, question) in asked.iter().zip(QUESTIONS) {
        assert!(asked.contains(question), "{asked}");
    }
}

#[tokio::test]
async fn a_question_shows_no_secret_that_the_server_was_given() {
    let (tools, asked) = agreeing(stdio(&json!({})).env("TOKEN", "s3cret-token")).await;
    let answer = tools.call_function("ask_secret", json!({})).await.unwrap();
    assert_eq!(answer["structuredContent"]["action"], "accept");
    let asked = asked.lock().unwrap().join("");
    assert!(
        asked.contains("May I use [hidden]?") && !asked.contains("s3cret"),
        "{asked}"
    );
}

#[tokio::test]
async fn question_schema_shows_no_server_secret() {
    let server = stdio(&json!({})).env("TOKEN", "s3cret-token");
    let agent = Agent::new()
        .model("m")
        .tools(T::mcp(server).await.unwrap())
        .connect_to(model("ask_secret"));
    let engine = Engine::in_memory().agent("desk", agent);
    let engine = engine.open().await.unwrap();
    let live = engine.session("desk").connect().await.unwrap();
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    let asked = updates.wait_for(|event| event.kind() == "confirmation_requested");
    asked.await.unwrap();
    let question = live.pending().await.unwrap().remove(0);
    let schema = question.payload_schema.as_ref().unwrap().to_value();
    let described = &schema["properties"]["table"]["description"];
    assert_eq!(*described, "May I use [hidden]?");
}
