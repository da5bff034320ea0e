//! Several nodes over one journal: each session has one owner, and what a node leaves goes on at
//! another.

use std::sync::Arc;
use std::time::Duration;

use recount::engine::{Desk, Error, SystemClock};
use recount::journal::{Error as JournalError, Journal};
use recount::ledger::Ledger;
use recount::prelude::*;
use recount::session::Event;
use recount::testing::ScriptedModel;
use tokio::sync::mpsc;

use crate::place::Place;

const ONE_CALL: &str = r#"
{"on": {"text": "go"}, "send": [{"call": [{"id": "r", "name": "refund"}]}]}
"#;

/// An agent whose tool is gated. Each run sends the name of its node.
pub(crate) fn support(node: &'static str, runs: mpsc::UnboundedSender<&'static str>) -> Agent {
    let refund = T::simple("refund", "Refunds", move |_| {
        let runs = runs.clone();
        async move {
            runs.send(node).unwrap();
            Ok(json!({"refunded": true}))
        }
    });
    let model = ScriptedModel::parse(ONE_CALL).unwrap();
    let agent = Agent::new().model("m").strict();
    agent.tools(T::confirm(refund, "Refund?")).connect_to(model)
}

pub(crate) async fn engine(
    place: &Place,
    node: &'static str,
    runs: &mpsc::UnboundedSender<&'static str>,
) -> Engine {
    let journal = place.node(node);
    let builder = Engine::in_memory().journal(journal);
    let agent = support(node, runs.clone());
    builder.agent("support", agent).open().await.unwrap()
}

/// A live session that waits for an answer, and its request.
pub(crate) async fn asked(engine: &Engine) -> (RequestId, LiveHandle) {
    let live = engine.session("support").connect().await.unwrap();
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    let asked = |event: &Event| event.kind() == "confirmation_requested";
    updates.wait_for(asked).await.unwrap();
    let request = live.pending().await.unwrap()[0].id;
    (request, live)
}

/// Two nodes over one journal, and the names of the nodes that run the tool.
pub(crate) struct Nodes {
    pub(crate) place: Place,
    pub(crate) a: Engine,
    pub(crate) b: Engine,
    pub(crate) ran: mpsc::UnboundedReceiver<&'static str>,
}

impl Nodes {
    pub(crate) async fn new() -> Nodes {
        let place = Place::new();
        let (runs, ran) = mpsc::unbounded_channel();
        let a = engine(&place, "a", &runs).await;
        let b = engine(&place, "b", &runs).await;
        Nodes { place, a, b, ran }
    }
}

fn is_owned(error: &Error) -> bool {
    let Error::Ledger(recount::ledger::Error::Journal(JournalError::Owned { owner, .. })) = error
    else {
        return false;
    };
    owner == "a"
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn approval_goes_on_at_another_node() {
    let Nodes {
        place: _place,
        a,
        b,
        mut ran,
    } = Nodes::new().await;
    let (request, live) = asked(&a).await;
    let ada = || Actor::embedder("ada");
    // A live connection pins its session.
    let refused = b
        .answer(request, ToolConfirmation::confirmed(), ada())
        .await;
    let error = refused.unwrap_err();
    assert!(is_owned(&error), "{error}");
    drop(live);
    a.shutdown(Duration::ZERO).await.unwrap();
    b.answer(request, ToolConfirmation::confirmed(), ada())
        .await
        .unwrap();
    assert_eq!(ran.recv().await, Some("b"));
    b.shutdown(Duration::from_secs(60)).await.unwrap();
    assert!(ran.try_recv().is_err());
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn idle_session_is_free_for_any_node() {
    let Nodes {
        place: _place,
        a,
        b,
        mut ran,
    } = Nodes::new().await;
    let (request, live) = asked(&a).await;
    let session = live.session_id();
    live.disconnect().await.unwrap();
    drop(live);
    let journal = b.ledger().journal().clone();
    while journal
        .sharing()
        .unwrap()
        .owner(session.0)
        .await
        .unwrap()
        .is_some()
    {
        journal.sharing().unwrap().changed(0).await;
    }
    let ada = Actor::embedder("ada");
    b.answer(request, ToolConfirmation::confirmed(), ada)
        .await
        .unwrap();
    assert_eq!(ran.recv().await, Some("b"));
    for node in [a, b] {
        node.shutdown(Duration::from_secs(60)).await.unwrap();
    }
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn node_adopts_what_a_desk_approved() {
    let place = Place::new();
    let (runs, mut ran) = mpsc::unbounded_channel();
    let a = engine(&place, "a", &runs).await;
    let (request, live) = asked(&a).await;
    drop(live);
    a.shutdown(Duration::ZERO).await.unwrap();
    let b = engine(&place, "b", &runs).await;
    let journal: Arc<dyn Journal> = place.node("desk");
    let desk = Desk::new(Ledger::new(journal.clone()), SystemClock::shared());
    let ada = Actor::os_user("ada");
    desk.answer(request, ToolConfirmation::confirmed(), ada)
        .await
        .unwrap();
    journal.close().await.unwrap();
    assert_eq!(ran.recv().await, Some("b"));
    b.shutdown(Duration::from_secs(60)).await.unwrap();
}
