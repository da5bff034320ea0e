//! Several nodes over one journal: each session has one owner, and what a node leaves goes on at
//! another.

use std::sync::Arc;
use std::time::Duration;

use recount::engine::{Desk, Error, Operated, Operation, SystemClock};
use recount::journal::{Error as JournalError, Journal};
use recount::ledger::Ledger;
use recount::prelude::*;
use recount::session::{Event, Json};
use recount::testing::ScriptedModel;
use tokio::sync::{Notify, mpsc};

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

/// Approves as a command does, which is gone afterwards.
async fn approve_at_a_desk(place: &Place, request: RequestId) {
    let journal: Arc<dyn Journal> = place.node("desk");
    let desk = Desk::new(Ledger::new(journal.clone()), SystemClock::shared());
    let ada = Actor::os_user("ada");
    desk.answer(request, ToolConfirmation::confirmed(), ada)
        .await
        .unwrap();
    journal.close().await.unwrap();
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
    approve_at_a_desk(&place, request).await;
    assert_eq!(ran.recv().await, Some("b"));
    b.shutdown(Duration::from_secs(60)).await.unwrap();
}

/// Other nodes have as much room, and hang.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn node_adopts_what_it_left_to_another_that_hangs() {
    let Nodes {
        place,
        a,
        b,
        mut ran,
    } = Nodes::new().await;
    let hanging = "INSERT INTO node (id, name, until, applied)
         SELECT gen_random_uuid(), 'hanging', clock_timestamp() + interval '1 hour', 0
         FROM generate_series(1, 30)";
    place.execute(hanging).await;
    let (request, live) = asked(&a).await;
    drop(live);
    a.shutdown(Duration::ZERO).await.unwrap();
    approve_at_a_desk(&place, request).await;
    assert_eq!(ran.recv().await, Some("b"));
    b.shutdown(Duration::from_secs(60)).await.unwrap();
}

/// A node that ends waits for its tools. What waits for a person goes on elsewhere meanwhile.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn session_without_a_running_tool_leaves_a_node_that_drains() {
    let Nodes {
        place,
        a: _a,
        b,
        mut ran,
    } = Nodes::new().await;
    let (starts, mut started) = mpsc::unbounded_channel();
    let end = Arc::new(Notify::new());
    let wait = {
        let end = end.clone();
        T::simple("wait", "Waits", move |_| {
            let (starts, end) = (starts.clone(), end.clone());
            async move {
                starts.send(()).unwrap();
                end.notified().await;
                Ok(json!({}))
            }
        })
    };
    let (runs, _ran_here) = mpsc::unbounded_channel();
    let builder = Engine::in_memory().journal(place.node("ending"));
    let slow = Agent::new().model("none").strict().tools(wait);
    let builder = builder
        .agent("support", support("ending", runs))
        .agent("slow", slow);
    let ending = builder.open().await.unwrap();
    let (request, live) = asked(&ending).await;
    let busy = ending.session("slow").open().await.unwrap();
    let by = || Actor::embedder("ada");
    let args = Json::empty_object();
    let begun = busy.begin_call("wait", args, "k", by()).await.unwrap();
    started.recv().await.unwrap();
    let draining = tokio::spawn(async move { ending.shutdown(Duration::from_secs(600)).await });
    // Refused only while the other node owns the session.
    let answered = b.operate(
        Operation::Answer {
            request,
            given: Ok(ToolConfirmation::confirmed()),
        },
        by(),
    );
    let Operated::OnRecord(_) = answered.await.unwrap() else {
        panic!("the answer counts");
    };
    assert_eq!(ran.recv().await, Some("b"));
    assert!(!draining.is_finished());
    end.notify_one();
    begun.outcome().await.unwrap().unwrap();
    drop((live, busy));
    draining.await.unwrap().unwrap();
    b.shutdown(Duration::from_secs(60)).await.unwrap();
}
