#![expect(
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

use std::sync::Arc;

use recount_journal::seal::{self, KeyStore, MemoryKeyStore, SessionKey};
use recount_journal::{
    Append, Draft, Hash, Journal, MemoryJournal, OpenItem, WorkChange, block_on,
};

use super::*;

const SESSION: SessionId = SessionId(Uuid::from_u128(7));

/// A session sealed under a key from another store.
fn ledger() -> (Ledger, Arc<MemoryKeyStore>) {
    let journal = MemoryJournal::new();
    let draft = Draft {
        session: SESSION.0,
        seq: 1,
        at_us: 5,
        kind: "session_opened",
        cause: None,
        actor: recount_journal::Actor::new("engine"),
        body: "{}",
        prev: Hash::ZERO,
    };
    let key = SessionKey::generate(SESSION.0).unwrap();
    let line = seal::line(&key, &draft, &[]).unwrap();
    block_on(journal.append(Append::new(SESSION.0, 0, vec![line]))).unwrap();
    let keys = Arc::new(MemoryKeyStore::default());
    let ledger = Ledger::new(Arc::new(journal)).with_keys(Arc::clone(&keys) as _);
    (ledger, keys)
}

fn erase(ledger: &Ledger, name: &str, at: i64) -> Result<Erasure, EraseError> {
    let by = Actor::embedder(name);
    block_on(ledger.erase(SESSION, by, "ticket 17", Timestamp(at)))
}

#[test]
fn erasure_is_recorded_once_and_returned_again() {
    let (ledger, keys) = ledger();
    assert!(matches!(
        erase(&ledger, "ada", 10),
        Err(EraseError::NoKey { .. })
    ));
    block_on(keys.create_key(SESSION.0)).unwrap();
    let unsaid = block_on(ledger.erase(SESSION, Actor::embedder("ada"), " ", Timestamp(1)));
    assert!(matches!(unsaid, Err(EraseError::NoReason)));
    assert!(block_on(ledger.erasures()).unwrap().is_empty());
    block_on(keys.keep(SESSION.0, "resumption", "sealed")).unwrap();
    block_on(keys.create_key(Uuid::from_u128(8))).unwrap();

    let erased = erase(&ledger, "ada", 20).unwrap();
    assert_eq!((erased.requested, erased.erased), (Seq(1), Some(Seq(2))));
    assert_eq!(
        (erased.by.name.as_str(), erased.reason.as_str()),
        ("ada", "ticket 17")
    );
    assert!(block_on(keys.key(SESSION.0)).unwrap().is_none());
    assert_eq!(block_on(keys.kept(SESSION.0, "resumption")).unwrap(), None);
    assert!(block_on(keys.key(Uuid::from_u128(8))).unwrap().is_some());
    let seen = |after| block_on(ledger.erased_after(Seq(after))).unwrap();
    assert_eq!(seen(0), (vec![SESSION], Seq(2)));
    assert_eq!(seen(2), (vec![], Seq(2)));
    assert_eq!(erase(&ledger, "bob", 30).unwrap(), erased);

    // The key store was restored from an earlier copy.
    block_on(keys.create_key(SESSION.0)).unwrap();
    let again = erase(&ledger, "bob", 40).unwrap();
    assert_eq!((again.requested, again.by.name.as_str()), (Seq(3), "bob"));
}

#[test]
fn interrupted_erasure_is_completed() {
    for key_was_gone in [false, true] {
        let (ledger, keys) = ledger();
        block_on(keys.create_key(SESSION.0)).unwrap();
        let requested = Requested {
            session: SESSION,
            by: Actor::embedder("ada"),
            reason: "ticket 17".to_owned(),
        };
        let (head, about) = (block_on(ledger.own_head()), (SESSION, ActorKind::Person));
        let requested = (REQUESTED, &requested);
        let noted = ledger.append_own(head.unwrap(), about, requested, Timestamp(10));
        block_on(noted).unwrap().unwrap();
        if key_was_gone {
            block_on(keys.erase(SESSION.0)).unwrap();
        } else {
            // A confirmation request is open in the meantime.
            set_waiting(&ledger, true);
            assert!(matches!(
                erase(&ledger, "bob", 15),
                Err(EraseError::WorkOpen { items: 1, .. })
            ));
            set_waiting(&ledger, false);
        }
        let erased = erase(&ledger, "bob", 20).unwrap();
        assert_eq!(erased.by.name, "ada");
        assert!(erased.erased > Some(erased.requested));
        assert!(block_on(keys.key(SESSION.0)).unwrap().is_none());
    }
}

/// Adds or removes an open request. The index alone holds open work, so the record's kind is
/// irrelevant.
fn set_waiting(ledger: &Ledger, waits: bool) {
    let journal = ledger.journal();
    let head = block_on(journal.head(SESSION.0)).unwrap().unwrap();
    let line = Draft {
        session: SESSION.0,
        seq: head.seq + 1,
        at_us: head.at_us,
        kind: "noted",
        cause: None,
        actor: recount_journal::Actor::new("journal"),
        body: "{}",
        prev: head.hash,
    }
    .line();
    let mut append = Append::new(SESSION.0, head.seq, vec![line]);
    append.open_work = vec![if waits {
        WorkChange::Put(OpenItem {
            session: SESSION.0,
            item: 1,
            kind: OpenKind::Confirmation.as_str().to_owned(),
            since_us: 5,
            deadline_us: None,
            request: None,
            flags: 0,
        })
    } else {
        WorkChange::Remove {
            session: SESSION.0,
            item: 1,
        }
    }];
    block_on(journal.append(append)).unwrap();
}
