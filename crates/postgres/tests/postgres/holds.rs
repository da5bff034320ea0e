//! Legal holds and erasures of two processes: the first one on record decides.

use std::sync::Arc;

use recount::engine::{Desk, Operated, Operation, SystemClock};
use recount::journal::seal::{KeyStore, MemoryKeyStore};
use recount::ledger::{EraseError, HoldTarget, Ledger};
use recount::prelude::*;
use recount_journal::{Actor as JournalActor, Journal, own_append};
use recount_postgres::PostgresJournal;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::nodes::support;
use crate::place::Place;

/// A closed, sealed session with a label, and the two processes that quarrel about it.
///
/// The desk is the program. The other process is a bare journal, because a lock keeps two desks of
/// one process apart.
struct Quarrel {
    place: Place,
    desk: Desk,
    other: Arc<PostgresJournal>,
    keys: Arc<MemoryKeyStore>,
    session: recount::session::SessionId,
}

impl Quarrel {
    async fn new() -> Quarrel {
        let (place, keys) = (Place::new(), Arc::new(MemoryKeyStore::default()));
        let (runs, _ran) = mpsc::unbounded_channel();
        let builder = Engine::in_memory().journal(place.node("a"));
        let agent = support("a", runs).sealed();
        let builder = builder.keys(keys.clone()).agent("support", agent);
        let engine = builder.open().await.unwrap();
        let opened = engine.session("support").label("matter", "17").open();
        let live = opened.await.unwrap();
        let session = live.session_id();
        live.close("done", Actor::embedder("ada")).await.unwrap();
        drop(live);
        engine.shutdown(std::time::Duration::ZERO).await.unwrap();
        let ledger = Ledger::new(place.node("desk")).with_keys(keys.clone());
        let desk = Desk::new(ledger, SystemClock::shared());
        let other = place.node("other");
        Quarrel {
            place,
            desk,
            other,
            keys,
            session,
        }
    }

    /// Locks the head of the journal's own stream. Appends to it wait, and are done in this order.
    async fn stage(&self) -> Client {
        let holder = self.place.client().await;
        let lock = format!(
            "BEGIN; SELECT FROM head WHERE session = '{}' FOR UPDATE",
            Uuid::nil()
        );
        holder.batch_execute(&lock).await.unwrap();
        holder
    }

    /// Appends a record to the own stream, as the other process does.
    fn note(&self, kind: &'static str, body: Value) -> tokio::task::JoinHandle<()> {
        let other = Arc::clone(&self.other);
        tokio::spawn(async move {
            let head = other.head(Uuid::nil()).await.unwrap();
            let actor = JournalActor::new("person");
            let append = own_append(head.as_ref(), 5, actor, kind, &body.to_string());
            other.append(append).await.unwrap();
        })
    }

    /// A first record, so that the stream has a head to lock.
    async fn begin(&self) {
        self.note("inspected", json!({})).await.unwrap();
    }

    fn requested(&self) -> Value {
        json!({"session": self.session, "by": Actor::os_user("eve"), "reason": "ticket 17"})
    }

    fn placed(&self) -> Value {
        let target = HoldTarget::Session(self.session);
        json!({"target": target, "by": Actor::os_user("ada"), "reason": "letter of counsel"})
    }

    async fn kinds(&self) -> Vec<String> {
        let lines = self.other.read(Uuid::nil(), 2, 9).await.unwrap();
        let kinds = lines.iter().map(|it| it.record().unwrap().kind.to_owned());
        kinds.collect()
    }

    async fn has_key(&self) -> bool {
        self.keys.key(self.session.0).await.unwrap().is_some()
    }
}

fn by_session(quarrel: &Quarrel) -> Operation {
    Operation::PlaceHold {
        target: HoldTarget::Session(quarrel.session),
        reason: "letter of counsel".to_owned(),
    }
}

fn by_label(value: &str) -> Operation {
    let (key, value) = ("matter".to_owned(), value.to_owned());
    Operation::PlaceHold {
        target: HoldTarget::Label { key, value },
        reason: "letter of counsel".to_owned(),
    }
}

/// The erasure has checked the holds when the hold of the other process is recorded.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn erasure_behind_a_hold_on_record_is_refused() {
    let quarrel = Quarrel::new().await;
    quarrel.begin().await;
    let stage = quarrel.stage().await;
    let placing = quarrel.note("hold_placed", quarrel.placed());
    quarrel.place.blocked(1).await;
    let (desk, session) = (quarrel.desk.clone(), quarrel.session);
    let erasing = tokio::spawn(async move {
        let by = Actor::os_user("eve");
        desk.erase(session, "ticket 17", by).await
    });
    quarrel.place.blocked(2).await;
    stage.batch_execute("COMMIT").await.unwrap();
    placing.await.unwrap();
    let refused = erasing.await.unwrap().unwrap_err();
    assert!(matches!(refused, EraseError::Held { .. }), "{refused}");
    assert!(quarrel.has_key().await);
    assert_eq!(quarrel.kinds().await, ["hold_placed"]);
}

/// The hold has looked for erasures when the request of the other process is recorded.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn hold_behind_a_requested_erasure_is_refused() {
    let quarrel = Quarrel::new().await;
    quarrel.begin().await;
    let stage = quarrel.stage().await;
    let erasing = quarrel.note("erasure_requested", quarrel.requested());
    quarrel.place.blocked(1).await;
    let (desk, hold) = (quarrel.desk.clone(), by_session(&quarrel));
    let placing = tokio::spawn(async move { desk.operate(hold, Actor::os_user("ada")).await });
    quarrel.place.blocked(2).await;
    stage.batch_execute("COMMIT").await.unwrap();
    erasing.await.unwrap();
    let Operated::Refused(refusal) = placing.await.unwrap().unwrap() else {
        panic!("the key may be deleted at any moment");
    };
    let by = refusal.by.unwrap().name;
    assert_eq!(
        (refusal.code.as_str(), by.as_str()),
        ("erasure_requested", "eve")
    );
    assert_eq!(quarrel.kinds().await, ["erasure_requested"]);
}

/// The other sessions with the label are held, so the hold is recorded, and says what it is late
/// for.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn hold_by_label_tells_for_which_session_it_is_late() {
    let quarrel = Quarrel::new().await;
    quarrel.begin().await;
    let requested = quarrel.requested();
    quarrel.note("erasure_requested", requested).await.unwrap();
    let ada = || Actor::os_user("ada");
    let late = quarrel.desk.operate(by_label("17"), ada()).await.unwrap();
    let Operated::OnRecordBut(on_record, error) = late else {
        panic!("{late:?}");
    };
    assert_eq!(on_record.seq.0, 3);
    let session = quarrel.session.to_string();
    assert!(error.to_string().contains(&session), "{error}");
    let other = quarrel.desk.operate(by_label("18"), ada()).await.unwrap();
    assert!(matches!(other, Operated::OnRecord(_)), "{other:?}");
}

/// Two processes complete the same erasure: both tell it, and it is on record once.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn erasure_that_two_complete_is_recorded_once() {
    let quarrel = Quarrel::new().await;
    quarrel.begin().await;
    let requested = quarrel.requested();
    quarrel.note("erasure_requested", requested).await.unwrap();
    let stage = quarrel.stage().await;
    let erased = json!({"session": quarrel.session, "requested": 2, "found": true});
    let completing = quarrel.note("session_erased", erased);
    quarrel.place.blocked(1).await;
    let (desk, session) = (quarrel.desk.clone(), quarrel.session);
    let erasing = tokio::spawn(async move {
        let by = Actor::os_user("ada");
        desk.erase(session, "ticket 18", by).await
    });
    quarrel.place.blocked(2).await;
    stage.batch_execute("COMMIT").await.unwrap();
    completing.await.unwrap();
    let erasure = erasing.await.unwrap().unwrap();
    assert_eq!(erasure.by.name, "eve");
    assert!(!quarrel.has_key().await);
    assert_eq!(
        quarrel.kinds().await,
        ["erasure_requested", "session_erased"]
    );
}
