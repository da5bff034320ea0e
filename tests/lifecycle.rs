//! How a session begins, ends and is answered by an engine that cannot run it.
#![cfg(feature = "testing")]
#![expect(
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

use recount::engine::Error;
use recount::prelude::*;
use recount::session::Seq;
use recount::testing::ScriptedModel;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_never_let_go_while_somebody_takes_it() {
    let model = ScriptedModel::parse("").unwrap();
    let agent = Agent::new().model("m").connect_to(model);
    let engine = Engine::in_memory().agent("a", agent).open().await.unwrap();
    for _ in 0..300 {
        let live = engine.session("a").connect().await.unwrap();
        let facts = engine.ledger().facts(live.session_id(), Seq(1), 10);
        let facts = facts.await.unwrap();
        let kinds: Vec<_> = facts.iter().map(|fact| fact.event.kind()).collect();
        assert_eq!(kinds, ["session_opened", "runner_attached", "connected"]);
    }
}

#[tokio::test]
async fn closing_a_session_ends_its_connection() {
    let model = ScriptedModel::parse("").unwrap();
    let live = Live::builder().model("m").connect_with(model).await.unwrap();
    live.close("done", Actor::embedder("ada")).await.unwrap();
    assert_eq!(live.state().await.unwrap().connection, None);
    assert!(matches!(live.send_text("Hello?").await, Err(Error::NotConnected { .. })));
}
