//! The policies of an agent change while its sessions live.

use recount::engine::Error;
use recount::prelude::*;
use recount::replay;
use recount::session::PolicyChanges;
use recount::tool::{ToolChanges, policy_file};

use crate::journal;
use crate::restart::world::is;

fn tool(name: &'static str) -> Toolset {
    T::simple(
        name,
        "Works",
        move |_| async move { Ok(json!({ "by": name })) },
    )
}

fn file(text: &str) -> Vec<PolicyChanges> {
    vec![policy_file::parse(text).unwrap()]
}

async fn engine() -> Engine {
    let agent = Agent::new().tools(tool("pay") | tool("look")).strict();
    Engine::in_memory().agent("a", agent).open().await.unwrap()
}

async fn called(live: &LiveHandle, name: &str) -> Result<Value, ToolError> {
    let by = Actor::embedder("pipeline");
    live.call_function(name, json!({}), by).await
}

async fn lawful(live: &LiveHandle) {
    let (ledger, id) = (live.engine().ledger(), live.session_id());
    journal::assert_lawful(ledger, id).await;
    let verified = replay::verify(ledger, id).await.unwrap();
    assert_eq!(verified.diverged, None);
}

const ONCE: &str = r#"{"tools": {"pay": {"limit_per_session": 1}}}"#;

#[tokio::test]
async fn open_and_new_sessions_get_the_policies() {
    let engine = engine().await;
    let open = engine.session("a").open().await.unwrap();
    let mut updates = open.subscribe();
    assert!(called(&open, "pay").await.is_ok());
    engine.change_policies("a", file(ONCE)).await.unwrap();
    updates.wait_for(is("catalog_changed")).await.unwrap();
    assert!(called(&open, "pay").await.is_err());
    assert!(called(&open, "look").await.is_ok());
    let new = engine.session("a").open().await.unwrap();
    assert!(called(&new, "pay").await.is_ok());
    assert!(called(&new, "pay").await.is_err());
    // The file replaces the one before.
    engine.change_policies("a", Vec::new()).await.unwrap();
    assert!(called(&open, "pay").await.is_ok());
    lawful(&open).await;
    lawful(&new).await;
}

#[tokio::test]
async fn question_under_new_policies_is_asked_again() {
    let engine = engine().await;
    let confirm = r#"{"tools": {"pay": {"confirm": "Pay?"}}}"#;
    engine.change_policies("a", file(confirm)).await.unwrap();
    let live = engine.session("a").open().await.unwrap();
    let mut updates = live.subscribe();
    let calling = live.clone();
    let paid = tokio::spawn(async move { called(&calling, "pay").await });
    updates
        .wait_for(is("confirmation_requested"))
        .await
        .unwrap();
    let before = live.pending().await.unwrap()[0].id;
    let other = r#"{"tools": {"pay": {"confirm": "Pay?", "in_doubt": "ask"}}}"#;
    engine.change_policies("a", file(other)).await.unwrap();
    let after = live.pending().await.unwrap();
    assert_eq!(after.len(), 1);
    let ada = Actor::embedder("ada");
    let yes = ToolConfirmation::confirmed();
    live.answer(after[0].id, yes, ada).await.unwrap();
    assert!(paid.await.unwrap().is_ok());
    assert_ne!(
        before, after[0].id,
        "the contract has the rule for a call in doubt"
    );
    lawful(&live).await;
}

#[tokio::test]
async fn mistaken_policies_change_nothing() {
    let engine = engine().await;
    let live = engine.session("a").open().await.unwrap();
    let wrong = file(r#"{"tools": {"pai": {"confirm": true}}}"#);
    let refused = engine.change_policies("a", wrong).await;
    let Err(Error::Configuration { mistakes }) = refused else {
        panic!("{refused:?}");
    };
    assert!(mistakes[0].contains("\"pai\""), "{mistakes:?}");
    let unknown = engine.change_policies("b", Vec::new()).await;
    assert!(matches!(unknown, Err(Error::UnknownAgent { .. })));
    assert_eq!(called(&live, "pay").await, Ok(json!({"by": "pay"})));
    assert_eq!(live.session().await.unwrap().rules, 1);
}

#[tokio::test]
async fn session_with_other_tools_keeps_them() {
    let engine = engine().await;
    let live = engine.session("a").open().await.unwrap();
    let changes = ToolChanges::new().with(tool("ship")).without("look");
    live.change_tools(changes).await.unwrap();
    let both = r#"{"tools": {"pay": {"limit_per_session": 1}, "look": {"confirm": true}}}"#;
    engine.change_policies("a", file(both)).await.unwrap();
    assert!(called(&live, "ship").await.is_ok());
    assert!(called(&live, "look").await.is_err());
    assert!(called(&live, "pay").await.is_ok());
    assert!(called(&live, "pay").await.is_err());
    lawful(&live).await;
}
