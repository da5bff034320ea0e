//! Journals with some records, and the clock of their tests.

use std::path::Path;
use std::sync::Arc;

use recount_evidence::{Checkpoints, Following, PrivateKey, Signer};
use recount_journal::{Actor, Append, DiskJournal, Draft, Hash, Journal};
use uuid::Uuid;

/// Appends records of these kinds to a session, one after the other.
pub(crate) async fn add(journal: &dyn Journal, session: Uuid, kinds: &[&str]) {
    for kind in kinds {
        let head = journal.head(session).await.unwrap();
        let (seq, prev) = head.map_or((0, Hash::ZERO), |head| (head.seq, head.hash));
        let draft = Draft {
            session,
            seq: seq + 1,
            at_us: 1_000,
            kind,
            cause: None,
            actor: Actor::new("engine"),
            body: "{}",
            prev,
        };
        let append = Append::new(session, seq, vec![draft.line()]);
        journal.append(append).await.unwrap();
    }
}

pub(crate) fn session(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

pub(crate) fn open(path: &Path) -> Arc<DiskJournal> {
    Arc::new(DiskJournal::open(path).unwrap())
}

pub(crate) fn key() -> PrivateKey {
    PrivateKey::generate("example.com/journal").unwrap()
}

/// A following that makes no checkpoint for records or time alone.
pub(crate) fn settings(key: PrivateKey) -> Checkpoints {
    Checkpoints {
        origin: "example.com/journal".to_owned(),
        signers: vec![Signer::Key(key)],
        every_records: 1_000,
        every: std::time::Duration::from_secs(60),
    }
}

pub(crate) async fn following(
    settings: Checkpoints,
    path: &Path,
    journal: &Arc<DiskJournal>,
    clock: &Arc<recount::testing::ManualClock>,
) -> Following {
    let (journal, clock) = (Arc::clone(journal), Arc::clone(clock));
    Following::open(settings, path, journal, clock)
        .await
        .unwrap()
}
