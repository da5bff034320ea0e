//! Calls that clients run: a worker at one node claims those of sessions at every node.

use std::collections::BTreeSet;
use std::time::Duration;

use recount::engine::{
    BegunCall, ClaimRequest, ClaimedCall, ClientAction, Error, Operated, Operation,
};
use recount::prelude::*;
use recount::session::{Json, Lease, Seq};
use tokio::task::JoinSet;

use crate::place::Place;
use crate::stranded::pass;

/// The claims at an expired lease would be in doubt.
const LEASE_MS: u64 = 3_600_000;

async fn shop(place: &Place, node: &'static str) -> Engine {
    let schema = || json!({"type": "object"});
    let pack = T::client("pack", "Packs an order", schema());
    let print = T::client("print", "Prints a label", schema());
    let agent = Agent::new().model("none").strict().tools(pack).tools(print);
    let builder = Engine::in_memory().journal(place.node(node));
    builder.agent("shop", agent).open().await.unwrap()
}

async fn shops() -> (Place, Engine, Engine) {
    let place = Place::new();
    let (a, b) = (shop(&place, "a").await, shop(&place, "b").await);
    (place, a, b)
}

async fn call(live: &LiveHandle, tool: &str, key: &str) -> BegunCall {
    let by = Actor::embedder("pipeline");
    let begun = live.begin_call(tool, Json::empty_object(), key, by).await;
    begun.unwrap()
}

fn request(claim: &str) -> ClaimRequest {
    let lease = Lease::from_millis(LEASE_MS).unwrap();
    ClaimRequest::new(claim).tool("pack").lease(lease)
}

fn worker() -> Actor {
    Actor::token("worker")
}

/// Reports the result of a claimed call.
async fn finish(node: &Engine, claimed: &ClaimedCall) {
    let result = Json::of(&json!({"packed_for": claimed.claim}));
    let action = ClientAction::Return(Ok(result));
    let key = claimed.key();
    let operated = node.operate(Operation::Client { key, action }, worker());
    let Operated::OnRecord(_) = operated.await.unwrap() else {
        panic!("the result counts");
    };
}

/// The number of records of this kind in the session.
async fn number_of(node: &Engine, session: recount::session::SessionId, kind: &str) -> usize {
    let facts = node.ledger().facts(session, Seq(1), 10_000).await.unwrap();
    facts.iter().filter(|it| it.event.kind() == kind).count()
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn worker_at_another_node_runs_the_call() {
    let (_place, a, b) = shops().await;
    let live = a.session("shop").label("site", "berlin").open();
    let live = live.await.unwrap();
    let begun = call(&live, "pack", "k1").await;
    for outside in [
        request("w0").label("site", "paris"),
        request("w0").agent("billing"),
        ClaimRequest::new("w0").tool("print"),
    ] {
        assert_eq!(b.claim(&outside, worker()).await.unwrap(), None);
    }
    let within = request("w1").label("site", "berlin");
    let claimed = b.claim(&within, worker()).await.unwrap().unwrap();
    assert_eq!(
        (claimed.session, claimed.call, claimed.attempt),
        (live.session_id(), begun.call, 1)
    );
    assert_eq!(a.claim(&request("w2"), worker()).await.unwrap(), None);
    assert_eq!(b.claim(&request("w3"), worker()).await.unwrap(), None);
    let other = Lease::from_millis(2 * LEASE_MS).unwrap();
    let renewed = b.renew_claim(claimed.key(), other, worker()).await;
    renewed.unwrap();
    let result = Ok(Json::of(&json!({"packed_for": "w1"})));
    let finished = b.finish_claim(claimed.key(), result, worker()).await;
    finished.unwrap();
    let again = b.finish_claim(claimed.key(), Err("too late".to_owned()), worker());
    let Error::RefusedElsewhere(refusal) = again.await.unwrap_err() else {
        panic!("the call has ended");
    };
    assert_eq!(refusal.code, "call_settled");
    let outcome = begun.outcome().await.unwrap();
    assert_eq!(outcome, Ok(json!({"packed_for": "w1"})));
    drop(live);
    for node in [a, b] {
        node.shutdown(Duration::ZERO).await.unwrap();
    }
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn named_call_of_another_node_is_refused_by_its_owner() {
    let (_place, a, b) = shops().await;
    let live = a.session("shop").open().await.unwrap();
    let begun = call(&live, "pack", "k1").await;
    let named = |claim: &str| request(claim).of_call(live.session_id(), begun.call);
    let claimed = b.claim(&named("w1"), worker()).await.unwrap().unwrap();
    assert_eq!(claimed.claim, "w1");
    let refused = b.claim(&named("w2"), worker()).await.unwrap_err();
    let Error::RefusedElsewhere(refusal) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(
        (refusal.code.as_str(), refusal.by, refusal.until),
        ("already_claimed", Some(worker()), Some(claimed.until))
    );
    // What fits no record is refused, and not taken for a call that another client has.
    call(&live, "pack", "k2").await;
    let unfit = b.claim(&request(""), worker()).await.unwrap_err();
    assert!(unfit.to_string().contains("claim"), "{unfit}");
    drop(live);
    for node in [a, b] {
        node.shutdown(Duration::ZERO).await.unwrap();
    }
}

/// Workers wait at both nodes before the first call is made. Each call has one worker, and no
/// worker waits longer than the calls last.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn each_call_wakes_one_worker_of_any_node() {
    let (_place, a, b) = shops().await;
    let mut sessions = Vec::new();
    for node in [&a, &b] {
        sessions.push(node.session("shop").open().await.unwrap());
    }
    let mut workers = JoinSet::new();
    for number in 0..24 {
        let node = if number % 4 == 0 { &a } else { &b }.clone();
        workers.spawn(async move {
            let request = request(&format!("w{number}"));
            let claimed = node.claim_next(&request, worker()).await.unwrap();
            finish(&node, &claimed).await;
            (claimed.session, claimed.call)
        });
    }
    let mut begun = Vec::new();
    for number in 0..24 {
        begun.push(call(&sessions[number % 2], "pack", &format!("k{number}")).await);
    }
    let ran: BTreeSet<_> = workers.join_all().await.into_iter().collect();
    assert_eq!(ran.len(), 24);
    for it in begun {
        assert!(it.outcome().await.unwrap().is_ok());
    }
    for live in &sessions {
        assert_eq!(number_of(&a, live.session_id(), "call_claimed").await, 12);
        assert_eq!(number_of(&a, live.session_id(), "claim_ended").await, 0);
    }
    drop(sessions);
    for node in [a, b] {
        node.shutdown(Duration::ZERO).await.unwrap();
    }
}

/// Lets no node take a request to another one.
pub(crate) const NOT_TAKEN: &str =
    "CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         RETURN NULL;
     END $$;
     CREATE TRIGGER skipped BEFORE UPDATE OF taker ON command FOR EACH ROW
         WHEN (NEW.taker IS NOT NULL) EXECUTE FUNCTION skip()";

/// Waits until a request to another node is in the database.
pub(crate) async fn request_stands(place: &Place) {
    let client = place.client().await;
    let count = "SELECT count(*) FROM command";
    while client.query_one(count, &[]).await.unwrap().get::<_, i64>(0) == 0 {}
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn call_of_a_silent_owner_keeps_one_worker_only() {
    let (place, a, b) = shops().await;
    let silent = a.session("shop").open().await.unwrap();
    call(&silent, "pack", "k1").await;
    let client = place.client().await;
    client.batch_execute(NOT_TAKEN).await.unwrap();
    let node = b.clone();
    let kept = tokio::spawn(async move { node.claim(&request("w1"), worker()).await });
    request_stands(&place).await;
    let own = b.session("shop").open().await.unwrap();
    call(&own, "pack", "k2").await;
    let claimed = b.claim(&request("w2"), worker()).await.unwrap().unwrap();
    assert_eq!(claimed.session, own.session_id());
    assert!(!kept.is_finished());
    kept.abort();
    drop((silent, own));
    for node in [a, b] {
        node.shutdown(Duration::ZERO).await.unwrap();
    }
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn claim_whose_client_has_left_is_given_back() {
    let (place, a, b) = shops().await;
    let live = a.session("shop").open().await.unwrap();
    let mut updates = live.subscribe();
    call(&live, "pack", "k1").await;
    let client = place.client().await;
    client.batch_execute(NOT_TAKEN).await.unwrap();
    let node = b.clone();
    let left = tokio::spawn(async move { node.claim(&request("w1"), worker()).await });
    request_stands(&place).await;
    left.abort();
    assert!(left.await.unwrap_err().is_cancelled());
    pass(&client, "skip").await;
    let ended = updates
        .wait_for(|event| event.kind() == "claim_ended")
        .await;
    assert!(ended.is_some());
    let claimed = b.claim(&request("w2"), worker()).await.unwrap().unwrap();
    assert_eq!((claimed.claim.as_str(), claimed.attempt), ("w2", 2));
    drop(live);
    for node in [a, b] {
        node.shutdown(Duration::ZERO).await.unwrap();
    }
}
