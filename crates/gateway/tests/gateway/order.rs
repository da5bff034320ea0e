//! The order of what is said, declared and called, on record.

use std::sync::Arc;

use recount::prelude::*;
use recount::testing::StuckJournal;
use serde_json::json;

use crate::bench::{Bench, POLICIES, SETUP_COMPLETE, agent, call, calls};

const WORDS: &str = r#"{"realtimeInput":{"text":"refund order 7"}}"#;

const USAGE: &str = r#"{"usageMetadata":{}}"#;

async fn stuck() -> (Bench, Arc<StuckJournal>) {
    let journal = StuckJournal::new();
    let engine = Engine::in_memory().journal(journal.clone());
    let engine = engine.agent("desk", agent(POLICIES)).open().await.unwrap();
    (Bench::over(engine).await, journal)
}

/// The place of the first record of a kind.
async fn place(bench: &Bench, kind: &str) -> usize {
    let session = bench.session_of_connection().await;
    let kinds = bench.kinds(session).await;
    let place = kinds.iter().position(|it| *it == kind);
    assert!(place.is_some(), "no {kind} among {kinds:?}");
    place.unwrap()
}

/// A client may speak before the setup is complete: JavaScript's SDK lets it.
#[tokio::test]
async fn words_before_the_setup_is_complete_are_recorded() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.opened("k", &[]).await;
    client.text(r#"{"setup":{"model":"models/m"}}"#).await;
    vendor.next_json().await;
    client.text(WORDS).await;
    assert_eq!(vendor.next_text().await, WORDS);
    assert_eq!(bench.sessions().await, []);
    let updates = bench.engine.subscribe();
    vendor.binary(SETUP_COMPLETE).await;
    assert_eq!(client.next_text().await, SETUP_COMPLETE);
    bench.recorded(updates, "user_text_sent").await;
}

/// Words and call wait while the session opens. The call follows the words that caused it.
#[tokio::test]
async fn words_are_recorded_before_the_call_that_they_caused() {
    let (mut bench, journal) = stuck().await;
    journal.stick();
    let (mut client, mut vendor) = bench.connected("k").await;
    client.text(WORDS).await;
    assert_eq!(vendor.next_text().await, WORDS);
    vendor.binary(&calls(&[call("f1", "refund")])).await;
    vendor.binary(USAGE).await;
    assert_eq!(client.next_text().await, USAGE);
    let updates = bench.engine.subscribe();
    journal.release();
    bench.recorded(updates, "function_call_received").await;
    assert!(place(&bench, "user_text_sent").await < place(&bench, "function_call_received").await);
}

/// Declared while the journal is stuck: audio passes, and the call of the new function waits for
/// its declaration.
#[tokio::test]
async fn declared_tools_precede_their_calls_and_hold_up_nothing() {
    let (mut bench, journal) = stuck().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    bench.session_of_connection().await;
    journal.stick();
    let tools = json!([{"functionDeclarations": [{"name": "brand_new"}]}]);
    let update = json!({"contextUpdate": {"tools": {"tools": tools}}});
    client.text(&update.to_string()).await;
    let passed = vendor.next_json().await;
    assert!(passed["contextUpdate"].is_object(), "{passed}");
    let new = calls(&[call("f1", "brand_new")]);
    vendor.binary(&new).await;
    for _ in 0..3 {
        vendor.binary(USAGE).await;
        assert_eq!(client.next_text().await, USAGE);
    }
    journal.release();
    assert_eq!(client.next_text().await, new);
    assert!(place(&bench, "catalog_changed").await < place(&bench, "function_call_received").await);
}
