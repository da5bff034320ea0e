//! Another list of a server while sessions run: they take its tools, and put nothing in doubt.

use recount::engine::LiveHandle;
use recount::prelude::*;
use recount::session::ToolPolicy;

use crate::server::stdio;

fn pipeline() -> Actor {
    Actor::embedder("pipeline")
}

async fn called(live: &LiveHandle, name: &str) -> Result<Value, ToolError> {
    live.call_function(name, json!({}), pipeline()).await
}

#[tokio::test]
async fn running_session_takes_the_other_list() {
    let server = stdio(&json!({"relists": true})).policy("ex*", ToolPolicy::gate("Extra?"));
    let refused = T::mcp_watched(server.clone())
        .await
        .unwrap_err()
        .to_string();
    assert!(refused.contains("ex*"), "{refused}");
    let server = stdio(&json!({"relists": true})).policy("e*", ToolPolicy::gate("Call it?"));
    let (tools, mut changes) = T::mcp_watched(server).await.unwrap();
    // The gate of the program counts for the tool as the server defines it later.
    let tools = T::limit_per_session(tools, 9);
    let agent = || Agent::new().tools(tools.clone()).strict();
    let engine = Engine::in_memory()
        .agent("a", agent())
        .agent("b", agent())
        .open()
        .await
        .unwrap();
    let live = engine.session("a").open().await.unwrap();
    called(&live, "redefine").await.unwrap();
    let changed = changes.next().await.unwrap().unwrap();
    live.change_tools(changed.clone()).await.unwrap();
    let session = live.session().await.unwrap();
    let (catalog, policies) = (&session.terms.catalog, &session.terms.policies);
    assert!(catalog.get("picture").is_none());
    let echo = &catalog.get("echo").unwrap().description;
    assert!(echo.contains("third party"), "{echo}");
    assert!(policies.of("echo").confirm && policies.of("extra").confirm);
    assert_eq!(policies.of("echo").limits.per_session, Some(9));
    assert!(called(&live, "picture").await.is_err());
    // The redefined tool is called, once a person allows it.
    let (runs, mut updates) = (live.clone(), live.subscribe());
    let echoes = tokio::spawn(async move { called(&runs, "echo").await });
    let asked = updates.wait_for(|event| event.kind() == "confirmation_requested");
    asked.await.unwrap();
    let request = live.pending().await.unwrap().remove(0).id;
    let yes = ToolConfirmation::confirmed();
    live.answer(request, yes, pipeline()).await.unwrap();
    echoes.await.unwrap().unwrap();
    // A session that begins later takes the same change, and taking it twice changes nothing.
    let later = engine.session("b").open().await.unwrap();
    assert!(later.change_tools(changed.clone()).await.unwrap().is_some());
    assert_eq!(later.change_tools(changed).await.unwrap(), None);
}

#[tokio::test]
async fn changes_end_with_the_last_tool() {
    let (tools, mut changes) = T::mcp_watched(stdio(&json!({}))).await.unwrap();
    drop(tools);
    assert!(changes.next().await.is_none());
}
