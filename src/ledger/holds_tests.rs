#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use recount_journal::seal::{KeyStore, MemoryKeyStore, SessionKey};
use recount_journal::{Append, BoxFuture, Draft, Hash, Journal, MemoryJournal, block_on};

use super::*;

const ONE: SessionId = SessionId(Uuid::from_u128(7));

/// A ledger in which `ONE` is sealed under a key of its store and has the label `matter=17`.
fn ledger() -> (Ledger, Arc<MemoryKeyStore>) {
    let keys = Arc::new(MemoryKeyStore::default());
    let key = block_on(keys.create_key(ONE.0)).unwrap();
    (sealed_under(&key, Arc::clone(&keys) as _), keys)
}

fn sealed_under(key: &SessionKey, keys: Arc<dyn KeyStore>) -> Ledger {
    let journal = MemoryJournal::new();
    let body = r#"{"agent":"support","labels":{"matter":"17"},"rules":1,"program":"recount"}"#;
    let draft = Draft {
        session: ONE.0,
        seq: 1,
        at_us: 5,
        kind: "session_opened",
        cause: None,
        actor: recount_journal::Actor::new("engine"),
        body,
        prev: Hash::ZERO,
    };
    let line = seal::line(key, &draft, &[]).unwrap();
    block_on(journal.append(Append::new(ONE.0, 0, vec![line]))).unwrap();
    Ledger::new(Arc::new(journal)).with_keys(keys)
}

fn matter(value: &str) -> HoldTarget {
    HoldTarget::Label {
        key: "matter".to_owned(),
        value: value.to_owned(),
    }
}

fn place(ledger: &Ledger, target: HoldTarget, name: &str) -> Result<Hold, HoldRefusal> {
    let (reason, by) = ("letter of counsel".to_owned(), Actor::embedder(name));
    block_on(ledger.place_hold(target, reason, by, Timestamp(10))).unwrap()
}

fn release(ledger: &Ledger, hold: Seq) -> Result<Hold, HoldRefusal> {
    let (reason, by) = ("settled".to_owned(), Actor::embedder("bob"));
    block_on(ledger.release_hold(hold, reason, by, Timestamp(20))).unwrap()
}

fn erase(ledger: &Ledger) -> Result<super::super::Erasure, EraseError> {
    block_on(ledger.erase(ONE, Actor::embedder("eve"), "ticket 17", Timestamp(30)))
}

fn keeper(ledger: &Ledger) -> Seq {
    match erase(ledger) {
        Err(EraseError::Held { session: ONE, hold }) => hold.id,
        other => panic!("expected a held session, found {other:?}"),
    }
}

#[test]
fn held_session_is_erased_after_the_last_release() {
    let (ledger, keys) = ledger();
    let by_id = place(&ledger, HoldTarget::Session(ONE), "ada").unwrap();
    let by_label = place(&ledger, matter("17"), "ada").unwrap();
    let other = place(&ledger, matter("18"), "ada").unwrap();
    assert_eq!((by_id.id, by_label.id, other.id), (Seq(1), Seq(2), Seq(3)));

    assert_eq!(keeper(&ledger), by_id.id);
    let said = erase(&ledger).unwrap_err().to_string();
    for part in [
        "hold 1 on session ",
        "placed by ada at 1970-01-01 00:00:00 UTC: letter",
    ] {
        assert!(said.contains(part), "{said}");
    }
    assert_eq!(
        release(&ledger, by_id.id).unwrap().released.unwrap().record,
        Seq(4)
    );
    assert_eq!(keeper(&ledger), by_label.id);
    assert!(block_on(ledger.erasures()).unwrap().is_empty());
    assert!(block_on(keys.key(ONE.0)).unwrap().is_some());

    release(&ledger, by_label.id).unwrap();
    assert!(erase(&ledger).unwrap().erased.is_some());
    assert_eq!(block_on(ledger.holds()).unwrap(), [other]);
    assert_eq!(block_on(ledger.holds_on_record()).unwrap().len(), 3);
}

#[test]
fn same_hold_of_same_actor_is_recorded_once() {
    let (ledger, _) = ledger();
    let first = place(&ledger, matter("17"), "ada").unwrap();
    assert_eq!(place(&ledger, matter("17"), "ada").unwrap(), first);
    let second = place(&ledger, matter("17"), "bob").unwrap();
    assert_eq!((first.id, second.id), (Seq(1), Seq(2)));
    // After its release, the same hold is a new one.
    release(&ledger, first.id).unwrap();
    assert_eq!(place(&ledger, matter("17"), "ada").unwrap().id, Seq(4));
}

#[test]
fn unfit_holds_and_releases_record_nothing() {
    let (ledger, _) = ledger();
    let unfit = |target, reason: &str| {
        let (reason, by) = (reason.to_owned(), Actor::embedder("ada"));
        block_on(ledger.place_hold(target, reason, by, Timestamp(10)))
    };
    let refused = |given: Result<Result<Hold, HoldRefusal>, Error>| given.unwrap().unwrap_err();
    assert_eq!(refused(unfit(matter("17"), " ")), HoldRefusal::NoReason);
    let (key, value) = (String::new(), "17".to_owned());
    let unnamed = HoldTarget::Label { key, value };
    assert_eq!(refused(unfit(unnamed, "why")), HoldRefusal::NoLabel);
    let long = "x".repeat(BODY_BYTES_MAX);
    assert_eq!(refused(unfit(matter("17"), &long)).code(), "too_large");
    for unknown in [SessionId(Uuid::from_u128(8)), SessionId(Uuid::nil())] {
        let placed = unfit(HoldTarget::Session(unknown), "why");
        assert!(matches!(placed, Err(Error::UnknownSession { .. })));
    }
    let missing = release(&ledger, Seq(9));
    assert_eq!(missing, Err(HoldRefusal::UnknownHold { hold: Seq(9) }));
    assert!(block_on(ledger.own_head()).unwrap().is_none());

    let hold = place(&ledger, matter("17"), "ada").unwrap();
    release(&ledger, hold.id).unwrap();
    assert_eq!(
        release(&ledger, hold.id).unwrap_err().code(),
        "hold_released"
    );
    assert_eq!(block_on(ledger.own_head()).unwrap().unwrap().seq, 2);
}

/// Without the labels, a hold by label may be one on the session.
#[test]
fn hold_by_label_keeps_sessions_whose_labels_are_unreadable() {
    let keys = Arc::new(MemoryKeyStore::default());
    block_on(keys.create_key(ONE.0)).unwrap();
    let other_key = SessionKey::generate(ONE.0).unwrap();
    let ledger = sealed_under(&other_key, keys);
    let hold = place(&ledger, matter("18"), "ada").unwrap();
    assert!(matches!(
        erase(&ledger),
        Err(EraseError::LabelsUnreadable { .. })
    ));
    release(&ledger, hold.id).unwrap();
    assert!(erase(&ledger).is_ok());
}

#[test]
fn hold_stops_interrupted_erasure_with_key_left() {
    let (ledger, keys) = ledger();
    let requested = serde_json::json!({
        "session": ONE, "by": Actor::embedder("eve"), "reason": "ticket 17",
    });
    let about = (ONE, ActorKind::Person);
    let body = (super::super::REQUESTED, &requested);
    block_on(ledger.append_own(None, about, body, Timestamp(5))).unwrap();
    let hold = place(&ledger, HoldTarget::Session(ONE), "ada").unwrap();
    assert_eq!(keeper(&ledger), hold.id);
    assert!(block_on(keys.key(ONE.0)).unwrap().is_some());
    release(&ledger, hold.id).unwrap();
    assert_eq!(erase(&ledger).unwrap().by.name, "eve");
    let late = place(&ledger, HoldTarget::Session(ONE), "ada");
    assert_eq!(late.unwrap_err().code(), "session_erased");
}

/// A key store during whose deletion another task tries to place a hold.
struct Raced {
    keys: MemoryKeyStore,
    ledger: Mutex<Option<Ledger>>,
}

impl KeyStore for Raced {
    fn key(&self, session: Uuid) -> BoxFuture<'_, Result<Option<SessionKey>, seal::Error>> {
        self.keys.key(session)
    }
    fn create_key(&self, session: Uuid) -> BoxFuture<'_, Result<SessionKey, seal::Error>> {
        self.keys.create_key(session)
    }
    fn keep<'a>(
        &'a self,
        session: Uuid,
        name: &'static str,
        sealed: &'a str,
    ) -> BoxFuture<'a, Result<(), seal::Error>> {
        self.keys.keep(session, name, sealed)
    }
    fn kept(
        &self,
        session: Uuid,
        name: &'static str,
    ) -> BoxFuture<'_, Result<Option<String>, seal::Error>> {
        self.keys.kept(session, name)
    }
    fn discard(&self, session: Uuid, name: &'static str) -> BoxFuture<'_, Result<(), seal::Error>> {
        self.keys.discard(session, name)
    }
    fn erase(&self, session: Uuid) -> BoxFuture<'_, Result<(), seal::Error>> {
        let ledger = self.ledger.lock().unwrap().clone().unwrap();
        let (reason, by) = ("late".to_owned(), Actor::embedder("ada"));
        let target = HoldTarget::Session(ONE);
        let mut placing = pin!(ledger.place_hold(target, reason, by, Timestamp(10)));
        let polled = placing
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        assert!(
            matches!(polled, Poll::Pending),
            "a hold waits for the deletion"
        );
        self.keys.erase(session)
    }
}

/// The hold is placed through another ledger over the same journal, which shares no lock of its
/// own with the first.
#[test]
fn hold_waits_for_deletion_that_has_begun() {
    let raced = Arc::new(Raced {
        keys: MemoryKeyStore::default(),
        ledger: Mutex::new(None),
    });
    let key = block_on(raced.create_key(ONE.0)).unwrap();
    let ledger = sealed_under(&key, Arc::clone(&raced) as _);
    let other = Ledger::new(Arc::clone(ledger.journal())).with_keys(Arc::clone(&raced) as _);
    *raced.ledger.lock().unwrap() = Some(other.clone());
    assert!(erase(&ledger).unwrap().erased.is_some());
    let late = place(&other, HoldTarget::Session(ONE), "ada");
    assert_eq!(late.unwrap_err().code(), "session_erased");
    assert!(block_on(other.holds_on_record()).unwrap().is_empty());
    *raced.ledger.lock().unwrap() = None;
}
