//! A connection that is opened to deliver an outcome: by the valid handle or as a fresh
//! conversation, and its idle timeout.

use std::sync::Arc;
use std::time::Duration;

use recount::engine::Reconnects;
use recount::journal::seal::MemoryKeyStore;
use recount::live::wire::{Blob, Content, Part, ServerContent, ServerMessage};
use recount::prelude::*;
use recount::session::{OnSettled, Seq};

use crate::nothing_left::settle;
use crate::reconnect::doors::Door;
use crate::reconnect::stage::{Stage, agent};

const REFUND: &str = r#"
{"on": "setup", "connection": 1, "send": [{"sessionResumptionUpdate": {"newHandle": "h1", "resumable": true}}]}
{"on": {"text": "go"}, "send": [{"say": "Let me see."}, {"sessionResumptionUpdate": {"newHandle": "h2", "resumable": true}}, {"call": [{"id": "c1", "name": "refund"}]}]}
{"on": "otherwise", "send": [{"say": "Well."}]}
"#;

/// A stage with a key store, in which handles outlive the task of their session.
async fn stage(with: impl Fn(Agent) -> Agent) -> Stage {
    let mut stage = Stage::new(REFUND, |agent| agent).await;
    let engine = Engine::in_memory()
        .journal(stage.journal.clone())
        .clock(stage.clock.clone())
        .keys(Arc::new(MemoryKeyStore::default()))
        .agent("support", with(agent(&stage.doors, &stage.till)));
    let before = std::mem::replace(&mut stage.engine, engine.open().await.unwrap());
    before.shutdown(Duration::ZERO).await.unwrap();
    stage
}

/// A session whose call waits and whose connection has ended; its request is then answered.
///
/// `doors` are the results of the next connections.
async fn approved(stage: &Stage, doors: impl IntoIterator<Item = Door>) -> SessionId {
    let live = stage.gone().await;
    answered(stage, live, doors).await
}

/// Like `approved`, for a session that has had a handle until now.
async fn answered(
    stage: &Stage,
    live: LiveHandle,
    doors: impl IntoIterator<Item = Door>,
) -> SessionId {
    let session = live.session_id();
    drop(live);
    settle().await;
    assert_eq!(count(stage, session, "disconnected").await, 1);
    stage.doors.meet(doors);
    let request = stage.engine.pending().await.unwrap().remove(0).id;
    let (yes, ada) = (ToolConfirmation::confirmed(), Actor::embedder("ada"));
    stage.engine.answer(request, yes, ada).await.unwrap();
    settle().await;
    session
}

async fn count(stage: &Stage, session: SessionId, kind: &str) -> usize {
    let facts = stage.engine.ledger().facts(session, Seq(1), 10_000).await;
    let facts = facts.unwrap();
    facts.iter().filter(|it| it.event.kind() == kind).count()
}

/// The number of outcomes that the model received on its second connection.
fn told(stage: &Stage) -> usize {
    let told = stage.told(2).into_iter();
    told.filter(|it| it.contains("[tool outcome]") && it.contains(r#"{"refunded":true}"#))
        .count()
}

async fn end(stage: Stage, session: SessionId) {
    let live = stage.engine.resume(session).await.unwrap();
    settle().await;
    stage.end(live).await;
}

fn connects(agent: Agent) -> Agent {
    agent.on_settled(OnSettled::Connect)
}

#[tokio::test(start_paused = true)]
async fn an_outcome_is_told_by_the_handle_that_is_still_valid() {
    let stage = stage(connects).await;
    let session = approved(&stage, []).await;
    assert_eq!(stage.doors.shown(), ["none", "h2"]);
    assert_eq!(told(&stage), 1);
    assert_eq!(count(&stage, session, "history_sent").await, 0);
    end(stage, session).await;
}

#[tokio::test(start_paused = true)]
async fn outcome_reaches_fresh_conversation_after_rejected_handle() {
    let stage = stage(connects).await;
    let session = approved(&stage, [Door::Refused(1007)]).await;
    stage.pass(1_000).await;
    assert_eq!(stage.doors.shown(), ["none", "h2", "none"]);
    assert_eq!(count(&stage, session, "history_sent").await, 1);
    let seeded = stage.model.transcript();
    let seeded = seeded.received().filter(|(on, _)| on.0 == 2);
    let seeded: Vec<String> = seeded.map(|(_, it)| it.encode()).collect();
    assert!(
        seeded.iter().any(|it| it.contains("Let me see.")),
        "{seeded:?}"
    );
    assert_eq!(told(&stage), 1);
    end(stage, session).await;
}

#[tokio::test(start_paused = true)]
async fn unheld_connection_ends_after_idle_time_and_text_reopens_it() {
    let five = Duration::from_secs(5);
    let stage = stage(|agent| connects(agent).idle_fold_after(five)).await;
    let session = approved(&stage, []).await;
    assert_eq!(told(&stage), 1);
    stage.pass(4_000).await;
    stage.model.send(&ServerMessage::text("One more thing."));
    settle().await;
    stage.pass(4_999).await;
    assert_eq!(count(&stage, session, "disconnected").await, 1);
    stage.pass(1).await;
    assert_eq!(count(&stage, session, "disconnected").await, 2);
    end(stage, session).await;
}

/// An audio frame of the model.
fn audio() -> ServerMessage {
    let part = Part {
        inline_data: Some(Blob::of("audio/pcm;rate=24000", &[0; 8])),
        ..Part::default()
    };
    let spoken = Content {
        parts: vec![part].into(),
        ..Content::default()
    };
    ServerMessage {
        server_content: Some(ServerContent {
            model_turn: Some(spoken),
            ..ServerContent::default()
        }),
        ..ServerMessage::default()
    }
}

#[tokio::test(start_paused = true)]
async fn model_audio_counts_as_activity() {
    let five = Duration::from_secs(5);
    let stage = stage(|agent| connects(agent).idle_fold_after(five)).await;
    let session = approved(&stage, []).await;
    for _ in 0..5 {
        stage.pass(3_000).await;
        stage.model.send(&audio());
        settle().await;
    }
    stage.pass(4_999).await;
    assert_eq!(count(&stage, session, "disconnected").await, 1);
    stage.pass(1).await;
    assert_eq!(count(&stage, session, "disconnected").await, 2);
    end(stage, session).await;
}

#[tokio::test(start_paused = true)]
async fn held_connection_is_never_closed_for_silence() {
    let five = Duration::from_secs(5);
    let stage = stage(|agent| connects(agent).idle_fold_after(five)).await;
    let live = stage.gone().await;
    for _ in 0..20 {
        stage.pass(5_000).await;
    }
    assert_eq!(count(&stage, live.session_id(), "disconnected").await, 0);
    let session = answered(&stage, live, []).await;
    stage.pass(4_000).await;
    // The connection was opened to deliver an outcome. From now on this handle holds it.
    let live = stage.engine.resume(session).await.unwrap();
    for _ in 0..20 {
        stage.pass(5_000).await;
    }
    assert_eq!(count(&stage, session, "disconnected").await, 1);
    assert_eq!(stage.connections(), 2);
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn holder_of_abandoned_connection_does_not_block_delivery() {
    let twice = Reconnects::default().attempts_max(2);
    let stage = stage(|agent| connects(agent).reconnects(twice)).await;
    let live = stage.gone().await;
    stage
        .drop_then(1006, [Door::Unreachable, Door::Unreachable])
        .await;
    stage.pass(60_000).await;
    assert_eq!(stage.count(&live, "reconnects_exhausted").await, 1);
    let request = stage.engine.pending().await.unwrap().remove(0).id;
    let (yes, ada) = (ToolConfirmation::confirmed(), Actor::embedder("ada"));
    stage.engine.answer(request, yes, ada).await.unwrap();
    settle().await;
    assert_eq!((stage.connections(), told(&stage)), (2, 1));
    // The handle holds the connection, so it has no idle timeout.
    stage.pass(120_000).await;
    assert_eq!(stage.count(&live, "disconnected").await, 1);
    stage.end(live).await;
}
