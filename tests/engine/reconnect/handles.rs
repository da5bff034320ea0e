//! Resumption handles: renewed, withheld, stale, rejected, kept, and never shown.

use std::sync::Arc;
use std::time::Duration;

use recount::engine::Reconnects;
use recount::journal::export;
use recount::journal::seal::MemoryKeyStore;
use recount::prelude::*;

use crate::journal::assert_lawful;
use crate::nothing_left::{assert_nothing_is_left, settle};
use crate::reconnect::doors::Door;
use crate::reconnect::stage::{Stage, agent};

const TALK: &str = r#"
{"on": "setup", "connection": 1, "send": [{"sessionResumptionUpdate": {"newHandle": "h1", "resumable": true}}]}
{"on": {"text": "go"}, "send": [{"say": "Going."}, {"sessionResumptionUpdate": {"newHandle": "h2", "resumable": true}}, {"sessionResumptionUpdate": {}}]}
{"on": "otherwise", "send": [{"say": "Well."}]}
"#;

#[tokio::test(start_paused = true)]
async fn while_a_handle_is_withheld_the_former_one_stays() {
    let stage = Stage::new(TALK, |agent| agent).await;
    let live = stage.gone().await;
    stage.drop_then(1000, []).await;
    assert_eq!(stage.doors.shown(), ["none", "h2"]);
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn rejected_handle_leads_to_fresh_conversation_with_history() {
    let stage = Stage::new(TALK, |agent| agent).await;
    let live = stage.gone().await;
    stage.drop_then(1006, [Door::Refused(1007)]).await;
    assert_eq!(stage.doors.shown(), ["none", "h2", "none"]);
    assert_eq!(stage.folded(&live).await.resumption, None);
    insta::assert_snapshot!(stage.outcome(&live).await);
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn handle_is_dropped_after_two_failures() {
    let stage = Stage::new(TALK, |agent| agent).await;
    let live = stage.gone().await;
    stage
        .drop_then(1006, [Door::Refused(1011), Door::Refused(1011)])
        .await;
    stage.pass(1_000).await;
    assert_eq!(stage.doors.shown(), ["none", "h2", "h2", "none"]);
    assert_eq!(stage.connections(), 2);
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn a_setup_that_is_refused_without_a_handle_is_not_tried_again() {
    let stage = Stage::new(TALK, |agent| agent).await;
    let live = stage.gone().await;
    stage
        .drop_then(1006, [Door::Refused(1007), Door::Refused(1007)])
        .await;
    stage.pass(60_000).await;
    assert_eq!(stage.doors.shown(), ["none", "h2", "none"]);
    assert_eq!(stage.count(&live, "reconnects_exhausted").await, 1);
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn a_stale_handle_is_not_shown_to_anybody() {
    let late = Duration::from_secs(2 * 60 * 60);
    let patience = Reconnects::default().waits(2 * late, 2 * late);
    let stage = Stage::new(TALK, |agent| agent.reconnects(patience)).await;
    let live = stage.gone().await;
    stage.model.drop_connection(1006, "gone");
    settle().await;
    stage.pass(4 * 60 * 60 * 1000).await;
    assert_eq!(stage.doors.shown(), ["none", "none"]);
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn handle_survives_process_only_in_side_store() {
    let keys = Arc::new(MemoryKeyStore::default());
    let stage = Stage::new(TALK, |agent| agent).await;
    let open = || {
        let engine = Engine::in_memory().journal(stage.journal.clone());
        let engine = engine.clock(stage.clock.clone()).keys(keys.clone());
        engine
            .agent("support", agent(&stage.doors, &stage.till))
            .open()
    };
    let first = open().await.unwrap();
    let live = first.session("support").connect().await.unwrap();
    live.send_text("go").await.unwrap();
    settle().await;
    let session = live.session_id();
    drop(live);
    first.shutdown(Duration::ZERO).await.unwrap();

    let second = open().await.unwrap();
    let live = second.resume(session).await.unwrap();
    assert_eq!(stage.doors.shown(), ["none", "h2"]);
    assert_lawful(second.ledger(), session).await;
    let mut bytes = Vec::new();
    export(&*stage.journal, None, &mut bytes).await.unwrap();
    let text = String::from_utf8(bytes).unwrap();
    assert!(!text.contains("\"h2\""), "{text}");
    drop(live);
    second.shutdown(Duration::ZERO).await.unwrap();
    stage.engine.shutdown(Duration::ZERO).await.unwrap();
    settle().await;
    assert_nothing_is_left();
}

#[tokio::test(start_paused = true)]
async fn resume_with_rejected_handle_starts_fresh_conversation() {
    for code in [1007, 1008, 1011] {
        let stage = Stage::new(TALK, |agent| agent).await;
        let live = stage.gone().await;
        live.disconnect().await.unwrap();
        stage.doors.meet([Door::Refused(code)]);
        live.connect().await.unwrap();
        assert_eq!(stage.doors.shown(), ["none", "h2", "none"], "{code}");
        stage.end(live).await;
    }
}
