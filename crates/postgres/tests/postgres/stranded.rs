//! Sessions whose task failed, or whose claim was lost on its way, are taken up again.

use std::sync::Arc;
use std::time::Duration;

use recount::engine::{Operated, Operation};
use recount::prelude::*;
use recount::session::{Event, Json};
use tokio::sync::{Notify, mpsc};
use tokio_postgres::Client;

use crate::forwarding::lose;
use crate::nodes::{Nodes, asked};
use crate::place::Place;

/// Rejects every append, with an error that is no connection's and no conflict. Each one is
/// counted.
const REJECT: &str = "CREATE SEQUENCE rejections;
    CREATE FUNCTION reject() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        PERFORM nextval('rejections');
        RAISE EXCEPTION 'not now' USING ERRCODE = TG_ARGV[0];
    END $$;
    ALTER FUNCTION reject() SET search_path FROM CURRENT;
    CREATE TRIGGER rejected BEFORE INSERT ON append FOR EACH ROW EXECUTE FUNCTION reject(";

pub(crate) async fn reject(place: &Place, code: &str) {
    let client = place.client().await;
    let statements = format!("{REJECT}'{code}')");
    client.batch_execute(&statements).await.unwrap();
}

/// Waits until an append was rejected, and lets later ones pass.
async fn admit_after_one(place: &Place) {
    let client = place.client().await;
    let count = "SELECT is_called FROM rejections";
    while !client
        .query_one(count, &[])
        .await
        .unwrap()
        .get::<_, bool>(0)
    {}
    pass(&client, "reject").await;
}

/// Makes a trigger let everything pass. Unlike the drop of the trigger, this locks no table.
pub(crate) async fn pass(client: &Client, function: &str) {
    let pass = format!(
        "CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             RETURN NEW;
         END $$"
    );
    client.batch_execute(&pass).await.unwrap();
}

fn issued(event: &Event) -> bool {
    event.kind() == "response_issued"
}

/// An agent with a tool that reports its start and waits for its end.
fn shop(starts: mpsc::UnboundedSender<()>, end: Arc<Notify>) -> Agent {
    let pay = T::simple("pay", "Pays", move |_| {
        let (starts, end) = (starts.clone(), end.clone());
        async move {
            let _ = starts.send(());
            end.notified().await;
            Ok(json!({"paid": true}))
        }
    });
    Agent::new().model("none").strict().tools(pay)
}

/// One node, whose tool runs.
struct Paying {
    place: Place,
    engine: Engine,
    /// Its drop would end the call.
    live: LiveHandle,
    started: mpsc::UnboundedReceiver<()>,
    end: Arc<Notify>,
}

impl Paying {
    async fn new() -> Paying {
        let place = Place::new();
        let ((starts, mut started), end) = (mpsc::unbounded_channel(), Arc::new(Notify::new()));
        let builder = Engine::in_memory().journal(place.node("a"));
        let agent = shop(starts, end.clone());
        let engine = builder.agent("shop", agent).open().await.unwrap();
        let live = engine.session("shop").open().await.unwrap();
        let by = Actor::embedder("till");
        let called = live.begin_call("pay", Json::empty_object(), "k", by).await;
        called.unwrap();
        started.recv().await.unwrap();
        Paying {
            place,
            engine,
            live,
            started,
            end,
        }
    }
}

/// The outcome of a call could not be recorded. Without another task the call would run for ever.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn session_whose_append_was_refused_goes_on() {
    let mut paying = Paying::new().await;
    let mut updates = paying.engine.subscribe();
    reject(&paying.place, "55P03").await;
    paying.end.notify_one();
    admit_after_one(&paying.place).await;
    let ended = updates.wait_for(issued).await.unwrap();
    let told = format!("{:?}", ended.fact.event);
    assert!(told.contains("Unknown"), "{told}");
    assert!(paying.started.try_recv().is_err(), "the tool ran twice");
    paying.engine.shutdown(Duration::ZERO).await.unwrap();
}

/// The database knows this node as the owner, and the node does not.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn session_whose_claim_had_no_reply_is_taken_up() {
    let paying = Paying::new().await;
    let (starts, mut started) = mpsc::unbounded_channel();
    let builder = Engine::in_memory().journal(paying.place.node("b"));
    let agent = shop(starts, paying.end.clone());
    let b = builder.agent("shop", agent).open().await.unwrap();
    let mut updates = b.subscribe();
    let claim = format!(
        "WITH lost AS (UPDATE node SET until = clock_timestamp() WHERE name = 'a')
         UPDATE head SET epoch = epoch + 1, owner = (SELECT id FROM node WHERE name = 'b')
         WHERE session = '{}'",
        paying.live.session_id().0
    );
    assert_eq!(paying.place.execute(&claim).await, 1);
    let ended = updates.wait_for(issued).await.unwrap();
    assert_eq!(ended.session, paying.live.session_id());
    assert!(started.try_recv().is_err(), "the tool ran twice");
    b.shutdown(Duration::ZERO).await.unwrap();
}

/// This node believes to own the session, and another one does.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn answer_of_a_fenced_node_goes_to_the_owner() {
    let Nodes {
        place,
        a,
        b,
        mut ran,
    } = Nodes::new().await;
    let (request, live) = asked(&a).await;
    let take = format!(
        "UPDATE head SET epoch = epoch + 1, owner = (SELECT id FROM node WHERE name = 'b')
         WHERE session = '{}'",
        live.session_id().0
    );
    assert_eq!(place.execute(&take).await, 1);
    let given = Ok(ToolConfirmation::confirmed());
    let answer = Operation::Answer { request, given };
    let operated = a.operate(answer, Actor::embedder("ada")).await;
    let Operated::OnRecord(it) = operated.unwrap() else {
        panic!("the answer counts");
    };
    assert_eq!(it.session, live.session_id());
    assert_eq!(ran.recv().await, Some("b"));
    drop(live);
    for node in [a, b] {
        node.shutdown(Duration::from_secs(60)).await.unwrap();
    }
}

/// The owner had no room at first, and is lost before it can reply.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn request_recorded_after_a_full_disk_is_carried_out_once() {
    let Nodes {
        place,
        a,
        b,
        mut ran,
    } = Nodes::new().await;
    let (request, live) = asked(&a).await;
    let client = place.client().await;
    // The node that is lost lives on, and tries to reply.
    let no_reply = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF NEW.taker = (SELECT id FROM node WHERE name = 'a') THEN
                RAISE EXCEPTION 'the reply is lost';
            END IF;
            RETURN NEW;
        END $$;
        ALTER FUNCTION refuse() SET search_path FROM CURRENT;
        CREATE TRIGGER refused BEFORE UPDATE OF reply ON command FOR EACH ROW
            WHEN (NEW.reply IS NOT NULL) EXECUTE FUNCTION refuse()";
    client.batch_execute(no_reply).await.unwrap();
    reject(&place, "53100").await;
    let answer = Operation::Answer {
        request,
        given: Ok(ToolConfirmation::confirmed()),
    };
    let (asker, ada) = (b.clone(), Actor::embedder("ada"));
    let answering = tokio::spawn(async move { asker.operate(answer, ada).await });
    admit_after_one(&place).await;
    assert_eq!(ran.recv().await, Some("a"));
    lose(&place, "a").await;
    let operated = answering.await.unwrap().unwrap();
    let Operated::OnRecord(it) = operated else {
        panic!("carried out twice: {operated:?}");
    };
    assert_eq!(
        (it.session, it.by.name.as_str()),
        (live.session_id(), "ada")
    );
    b.shutdown(Duration::from_secs(60)).await.unwrap();
}
