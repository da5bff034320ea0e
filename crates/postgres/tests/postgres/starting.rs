//! Starts of nodes with another key store, and of tools by a node whose lease ends.

use std::sync::Arc;
use std::time::Duration;

use recount::engine::Error;
use recount::journal::seal::MemoryKeyStore;
use recount::prelude::*;
use recount::session::{Event, Json};
use recount_journal::Journal;
use tokio::sync::{Notify, mpsc};

use crate::forwarding::lose;
use crate::place::Place;

fn starts(event: &Event) -> bool {
    event.kind() == "call_started"
}

/// An agent whose tool `hold` waits for `end`, and whose tool `pay` reports each run.
fn shop(end: &Arc<Notify>, runs: mpsc::UnboundedSender<()>) -> Agent {
    let end = end.clone();
    let hold = T::simple("hold", "Holds the only slot", move |_| {
        let end = end.clone();
        async move {
            end.notified().await;
            Ok(json!({}))
        }
    });
    let pay = T::simple("pay", "Pays", move |_| {
        let _ = runs.send(());
        async { Ok(json!({"paid": true})) }
    });
    Agent::new().model("none").strict().tools(hold | pay)
}

/// Another node may have recorded the call in doubt by then.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn call_that_waits_for_a_slot_starts_never_after_the_lease() {
    let place = Place::new();
    let options = place.options(place.address(), "a");
    let journal = Arc::new(options.lease(Duration::from_secs(2)).open().unwrap());
    let (end, (runs, mut ran)) = (Arc::new(Notify::new()), mpsc::unbounded_channel());
    let builder = Engine::in_memory().journal(journal.clone()).running_max(1);
    let engine = builder
        .agent("shop", shop(&end, runs))
        .open()
        .await
        .unwrap();
    let by = || Actor::embedder("till");
    let holder = engine.session("shop").open().await.unwrap();
    let mut held = holder.subscribe();
    holder
        .begin_call("hold", Json::empty_object(), "k", by())
        .await
        .unwrap();
    held.wait_for(starts).await.unwrap();
    let payer = engine.session("shop").open().await.unwrap();
    let mut paid = payer.subscribe();
    payer
        .begin_call("pay", Json::empty_object(), "k", by())
        .await
        .unwrap();
    // On record, and without a slot.
    paid.wait_for(starts).await.unwrap();
    lose(&place, "a").await;
    journal.sharing().unwrap().lost().await;
    end.notify_one();
    // The session's task ends, and leaves the call as it was.
    while payer.session().await.is_ok() {
        tokio::task::yield_now().await;
    }
    assert!(ran.try_recv().is_err(), "the tool began after the lease");
}

async fn open(place: &Place, keys: Option<&Arc<MemoryKeyStore>>) -> Result<Engine, Error> {
    let builder = Engine::in_memory().journal(place.node("n"));
    let desk = Agent::new().model("none").strict();
    match keys {
        Some(keys) => {
            let builder = builder.keys(keys.clone());
            builder.agent("desk", desk.sealed()).open().await
        }
        None => builder.agent("desk", desk).open().await,
    }
}

/// It would seal sessions that the other nodes cannot read. One without a store is only warned.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn node_with_another_key_store_does_not_start() {
    let place = Place::new();
    let keys = Arc::<MemoryKeyStore>::default();
    let other = Arc::<MemoryKeyStore>::default();
    let mut nodes = vec![open(&place, None).await.unwrap()];
    for keys in [Some(&keys), None, Some(&keys)] {
        nodes.push(open(&place, keys).await.unwrap());
    }
    let error = open(&place, Some(&other)).await.err().unwrap();
    assert!(matches!(error, Error::OtherKeyStore { .. }), "{error}");
    // A refused node owns nothing and ends its lease.
    let living = "SELECT FROM node WHERE until > now()";
    assert_eq!(place.execute(living).await, 4);
    // Without the mark, as in a database of an earlier program, sealed sessions tell.
    let sealed = nodes[1].session("desk").open().await.unwrap().session_id();
    place.execute("DELETE FROM key_store").await;
    let error = open(&place, Some(&other)).await.err().unwrap();
    assert!(
        matches!(error, Error::OtherKeyStore { missing } if missing == sealed.0),
        "{error}"
    );
    nodes.push(open(&place, Some(&keys)).await.unwrap());
    assert_eq!(place.execute("SELECT FROM key_store").await, 1);
    for engine in nodes {
        engine.shutdown(Duration::ZERO).await.unwrap();
    }
}
