//! Requests to the node that owns a session: carried out once, also if that node is lost.

use std::sync::Arc;
use std::time::Duration;

use recount::engine::{self, Desk, Operated, Operation, SystemClock};
use recount::journal::seal::MemoryKeyStore;
use recount::ledger::{self, EraseError, Ledger};
use recount::prelude::*;
use recount::session::{Json, Seq};
use recount_journal::testing::Stream;
use recount_journal::{Append, CarriedOut, Error, Journal, Sharing};
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::client_claims::{NOT_TAKEN, request_stands};
use crate::nodes::{Nodes, asked, support};
use crate::place::Place;
use crate::proxy::{Fault, Proxy};
use crate::stranded::{pass, reject};

const HOUR: Duration = Duration::from_secs(3600);

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn owner_carries_out_what_another_node_was_asked() {
    let Nodes {
        place: _place,
        a,
        b,
        mut ran,
    } = Nodes::new().await;
    let (request, live) = asked(&a).await;
    let answer = || Operation::Answer {
        request,
        given: Ok(ToolConfirmation::confirmed()),
    };
    let operated = b.operate(answer(), Actor::embedder("ada")).await.unwrap();
    let Operated::OnRecord(it) = operated else {
        panic!("{operated:?}");
    };
    assert_eq!(
        (it.session, it.by.name.as_str()),
        (live.session_id(), "ada")
    );
    assert_eq!(ran.recv().await, Some("a"));
    let operated = b.operate(answer(), Actor::embedder("ben")).await.unwrap();
    let Operated::Refused(refusal) = operated else {
        panic!("{operated:?}");
    };
    assert_eq!(
        (refusal.at, refusal.code.as_str()),
        (Some(it.seq), "already_answered")
    );
    drop(live);
    for node in [a, b] {
        node.shutdown(Duration::from_secs(60)).await.unwrap();
    }
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn call_at_another_node_is_made_by_the_owner() {
    let Nodes {
        place: _place,
        a,
        b,
        ran: _ran,
    } = Nodes::new().await;
    let live = a.session("support").open().await.unwrap();
    let call = || Operation::Call {
        session: live.session_id(),
        tool: "refund".to_owned(),
        args: Json::empty_object(),
        key: "order-7".to_owned(),
    };
    let by = || Actor::embedder("pipeline");
    let mut seqs = Vec::new();
    for (node, repeated) in [(&b, false), (&a, true), (&b, true)] {
        let operated = node.operate(call(), by()).await.unwrap();
        let Operated::OnRecord(it) = operated else {
            panic!("{operated:?}");
        };
        assert_eq!((it.repeated, it.tool.as_str()), (repeated, "refund"));
        seqs.push(it.seq);
    }
    assert_eq!(seqs, [seqs[0]; 3]);
    assert_eq!(live.pending().await.unwrap().len(), 1);
    drop(live);
    for node in [a, b] {
        node.shutdown(Duration::ZERO).await.unwrap();
    }
}

/// The lease of the node is over, as if it had been killed.
pub(crate) async fn lose(place: &Place, node: &str) {
    let end = format!("UPDATE node SET until = clock_timestamp() WHERE name = '{node}'");
    assert_eq!(place.execute(&end).await, 1);
}

fn carrying_out(request: Uuid, append: Append) -> Append {
    let at = append.expected + 1;
    Append {
        carries_out: Some(CarriedOut { request, at }),
        ..append
    }
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn request_and_its_outcome_are_committed_together() {
    let place = Place::new();
    let (a, b) = (place.node("a"), place.node("b"));
    let mut stream = Stream::new(1);
    stream.append(&*a, &["{}"]);
    let (session, requester) = (stream.session, b.sharing().unwrap());
    let mut requests = Vec::new();
    for _ in 0..2 {
        let request = requester.ask(session, "{}".to_owned(), HOUR).await;
        requests.push(request.unwrap());
    }
    let owner: &dyn Sharing = a.sharing().unwrap();
    let taken = owner.asked().await.unwrap();
    assert!(taken.iter().all(|it| it.carried_out.is_none()));
    a.append(carrying_out(requests[0], stream.next(&["{}"])))
        .await
        .unwrap();
    let late = carrying_out(requests[1], stream.next(&["{}"]));
    lose(&place, "a").await;
    let claimed = requester.claim(vec![session]).await.unwrap();
    assert_eq!(claimed, [session]);
    // The epoch is over, so neither the records nor the outcome are stored.
    a.append(late).await.unwrap_err();
    let mut taken = requester.asked().await.unwrap();
    taken.sort_by_key(|it| it.id != requests[0]);
    let outcomes: Vec<_> = taken.iter().map(|it| (it.id, it.carried_out)).collect();
    assert_eq!(outcomes, [(requests[0], Some(2)), (requests[1], None)]);
}

/// The owner records an answer, and is lost before it can reply.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn next_owner_tells_what_the_lost_one_recorded() {
    let Nodes {
        place,
        a,
        b,
        mut ran,
    } = Nodes::new().await;
    let (request, live) = asked(&a).await;
    let client = place.client().await;
    client
        .batch_execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                 RAISE EXCEPTION 'the reply is lost';
             END $$;
             CREATE TRIGGER refused BEFORE UPDATE OF reply ON command FOR EACH ROW
                 WHEN (NEW.reply IS NOT NULL) EXECUTE FUNCTION refuse()",
        )
        .await
        .unwrap();
    let given = Ok(ToolConfirmation::confirmed());
    let (asker, ada) = (b.clone(), Actor::embedder("ada"));
    let answer = Operation::Answer { request, given };
    let answering = tokio::spawn(async move { asker.operate(answer, ada).await });
    assert_eq!(ran.recv().await, Some("a"));
    lose(&place, "a").await;
    pass(&client, "refuse").await;
    let operated = answering.await.unwrap().unwrap();
    let Operated::OnRecord(it) = operated else {
        panic!("{operated:?}");
    };
    assert_eq!(it.by.name, "ada");
    let facts = b.ledger().facts(live.session_id(), Seq(1), 1000).await;
    let facts = facts.unwrap();
    let answers: Vec<_> = facts
        .iter()
        .filter(|it| it.event.kind().starts_with("confirmation_answered"))
        .map(|it| it.seq)
        .collect();
    assert_eq!(answers, [it.seq]);
    assert!(facts.iter().all(|it| it.event.kind() != "answer_refused"));
    b.shutdown(Duration::from_secs(60)).await.unwrap();
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn request_to_a_sealed_session_is_sealed() {
    let (place, keys) = (Place::new(), Arc::new(MemoryKeyStore::default()));
    let (runs, _ran) = mpsc::unbounded_channel();
    let mut nodes = Vec::new();
    for node in ["a", "b"] {
        let builder = Engine::in_memory().journal(place.node(node));
        let agent = support(node, runs.clone()).sealed();
        let engine = builder.keys(keys.clone()).agent("support", agent).open();
        nodes.push(engine.await.unwrap());
    }
    // What anyone with the database sees.
    let client = place.client().await;
    client
        .batch_execute(
            "CREATE TABLE seen (text text);
             CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                 INSERT INTO seen VALUES (NEW.request), (NEW.reply);
                 RETURN NEW;
             END $$;
             ALTER FUNCTION see() SET search_path FROM CURRENT;
             CREATE TRIGGER seeing BEFORE INSERT OR UPDATE ON command FOR EACH ROW
                 EXECUTE FUNCTION see()",
        )
        .await
        .unwrap();
    let (request, live) = asked(&nodes[0]).await;
    let given = Ok(ToolConfirmation::denied("suspicious"));
    let answer = Operation::Answer { request, given };
    let operated = nodes[1].operate(answer, Actor::embedder("ada@desk")).await;
    let Operated::OnRecord(_) = operated.unwrap() else {
        panic!("the answer counts");
    };
    let rows = client
        .query("SELECT text FROM seen WHERE text IS NOT NULL", &[])
        .await;
    let seen: Vec<String> = rows.unwrap().iter().map(|row| row.get(0)).collect();
    assert!(seen.len() >= 3, "{seen:?}");
    for text in seen {
        assert!(
            !text.contains("suspicious") && !text.contains("ada@desk"),
            "{text}"
        );
    }
    drop(live);
    for node in nodes {
        node.shutdown(Duration::ZERO).await.unwrap();
    }
}

/// A node that serves a session has its key in memory, and would go on with it.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn session_that_another_node_serves_is_not_erased() {
    let (place, keys) = (Place::new(), Arc::new(MemoryKeyStore::default()));
    let (runs, _ran) = mpsc::unbounded_channel();
    let builder = Engine::in_memory().journal(place.node("a"));
    let agent = support("a", runs).sealed();
    let builder = builder.keys(keys.clone()).agent("support", agent);
    let node = builder.open().await.unwrap();
    let (request, live) = asked(&node).await;
    let session = live.session_id();
    let given = Ok(ToolConfirmation::denied("suspicious"));
    let answer = Operation::Answer { request, given };
    node.operate(answer, Actor::embedder("ada")).await.unwrap();
    let desk = place.node("desk");
    let desk = Desk::new(Ledger::new(desk).with_keys(keys), SystemClock::shared());
    let erase = || desk.erase(session, "ticket 17", Actor::embedder("eve"));
    let refused = erase().await.unwrap_err();
    let EraseError::Ledger(ledger::Error::Journal(Error::Owned { owner, .. })) = refused else {
        panic!("{refused}");
    };
    assert_eq!(owner, "a");
    live.close("done", Actor::embedder("ada")).await.unwrap();
    node.shutdown(Duration::from_secs(60)).await.unwrap();
    assert!(erase().await.unwrap().erased.is_some());
}

/// The operation is on record, so its sender must be told.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn reply_that_is_lost_on_its_way_is_read_again() {
    let place = Place::new();
    let proxy = Proxy::start(place.server()).await;
    let asking = place.options(place.address_at(proxy.port()), "asking");
    let (owner, asking) = (place.node("owner"), Arc::new(asking.open().unwrap()));
    let mut stream = Stream::new(1);
    stream.append(&*owner, &["{}"]);
    let (session, sharing) = (stream.session, owner.sharing().unwrap());
    let asked = asking.sharing().unwrap().ask(session, "q".to_owned(), HOUR);
    let id = asked.await.unwrap();
    assert_eq!(sharing.asked().await.unwrap().len(), 1);
    let replied = sharing.reply(session, id, Some("r".to_owned())).await;
    replied.unwrap();
    proxy.fail_at("reply IS NOT NULL", Fault::Unanswered);
    let reader = Arc::clone(&asking);
    let reading = tokio::spawn(async move { reader.sharing().unwrap().replied(session, id).await });
    proxy.failed().await;
    proxy.cut();
    assert_eq!(reading.await.unwrap().unwrap().as_deref(), Some("r"));
    assert_eq!(place.execute("SELECT FROM command").await, 0);
}

/// Cancels the look of a sender at its request, as a server does that ends a deadlock.
async fn cancel_a_look(place: &Place) {
    let (locking, cancelling) = (place.client().await, place.client().await);
    let lock = "SET lock_timeout = '200ms'; BEGIN; LOCK TABLE command";
    while locking.batch_execute(lock).await.is_err() {
        locking.batch_execute("ROLLBACK").await.unwrap();
    }
    let cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity
        WHERE wait_event_type = 'Lock' AND query LIKE 'SELECT reply FROM%'
            AND query LIKE '%' || current_schema || '%'";
    while cancelling.query(cancel, &[]).await.unwrap().is_empty() {}
    locking.batch_execute("COMMIT").await.unwrap();
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn look_at_a_request_that_fails_is_repeated() {
    let Nodes {
        place,
        a,
        b,
        mut ran,
    } = Nodes::new().await;
    let (request, live) = asked(&a).await;
    let client = place.client().await;
    client.batch_execute(NOT_TAKEN).await.unwrap();
    let given = Ok(ToolConfirmation::confirmed());
    let (asker, ada) = (b.clone(), Actor::embedder("ada"));
    let answer = Operation::Answer { request, given };
    let answering = tokio::spawn(async move { asker.operate(answer, ada).await });
    request_stands(&place).await;
    cancel_a_look(&place).await;
    pass(&client, "skip").await;
    let operated = answering.await.unwrap().unwrap();
    let Operated::OnRecord(it) = operated else {
        panic!("{operated:?}");
    };
    assert_eq!(it.by.name, "ada");
    assert_eq!(ran.recv().await, Some("a"));
    drop(live);
    for node in [a, b] {
        node.shutdown(Duration::from_secs(60)).await.unwrap();
    }
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn requester_is_told_that_the_owner_could_not_write() {
    let Nodes {
        place, a, b, ran, ..
    } = Nodes::new().await;
    let (request, live) = asked(&a).await;
    // A right that the owner lacks.
    reject(&place, "42501").await;
    let given = Ok(ToolConfirmation::confirmed());
    let answer = Operation::Answer { request, given };
    let error = b.operate(answer, Actor::embedder("ada")).await.unwrap_err();
    assert!(
        matches!(&error, engine::Error::Stopped { unwritable: true, cause, .. }
            if cause.contains("not now")),
        "{error}"
    );
    pass(&place.client().await, "reject").await;
    drop((live, ran));
    for node in [a, b] {
        node.shutdown(Duration::ZERO).await.unwrap();
    }
}
