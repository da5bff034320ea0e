//! Snapshots: the folded state of a long session, cached beside the journal. The next opening folds
//! only later records.
//!
//! The stream always has precedence. A snapshot's label names its records, its program version and
//! its rules, and each must match. The last folded record must have the same hash in the journal.
//! The records before it then match, too, because each record names the hash of the previous one. A
//! missing, torn, stale or foreign snapshot is ignored. The snapshot of a sealed session is sealed
//! with the session's key.

use recount_journal::Hash;
use recount_journal::seal::is_sealed_object;
use serde::{Deserialize, Serialize};

use super::line::Entry;
use super::store::{Loaded, Tail};
use super::{Ledger, Seal};
use crate::session::snapshot::{self, Snapshot};
use crate::session::{Library, RULES, Seq, Session, SessionId};

/// The minimum number of folded records for which a snapshot is written.
pub(crate) const PAYS_FROM: u64 = 4_096;

/// The version of the snapshot format. Increase it also for a change of the fold that comes without
/// a new program version.
const FORMAT: u32 = 5;

/// The label: the records of a snapshot, and the program that wrote it.
#[derive(Debug, Deserialize, PartialEq, Serialize)]
struct Label<'a> {
    format: u32,
    program: &'a str,
    rules: u32,
    session: SessionId,
    seq: Seq,
    hash: Hash,
}

impl Label<'_> {
    fn of(session: SessionId, tail: Tail) -> Label<'static> {
        Label {
            format: FORMAT,
            program: env!("CARGO_PKG_VERSION"),
            rules: RULES,
            session,
            seq: tail.seq,
            hash: tail.hash,
        }
    }
}

impl Ledger {
    /// Returns the session from its snapshot, if the snapshot is valid. Errors are ignored, because
    /// folding the records will report them.
    pub(super) async fn snapshot_of(&self, id: SessionId) -> Option<Session> {
        let kept = self.journal().snapshot(id.0).await.ok()??;
        let content = checked(&kept)?;
        let first = self.journal().read(id.0, 1, 1).await.ok()?;
        let first = Entry::read(id, Seq(1), first.into_iter().next()?, None).ok()?;
        if first.is_sealed() && !is_sealed_object(content) {
            // Its writer had no key, so it is forged: folding the session requires the key.
            return None;
        }
        let opened = match is_sealed_object(content) {
            true => Some(self.key(id).await.ok()??.open_object(content).ok()?),
            false => None,
        };
        let content = opened.as_ref().map_or(content, |it| it.as_slice());
        let line_end = content.iter().position(|byte| *byte == b'\n')?;
        let (label, state) = content.split_at_checked(line_end)?;
        let label: Label<'_> = serde_json::from_slice(label).ok()?;
        let tail = Tail {
            seq: label.seq,
            hash: label.hash,
        };
        if label != Label::of(id, tail) {
            return None;
        }
        let last = self.journal().read(id.0, label.seq.0, 1).await.ok()?;
        if last.first()?.leaf() != label.hash {
            return None;
        }
        let snapshot = Snapshot::read(state)?;
        let mut library = Library::default();
        self.hand_in(id, snapshot.objects(), &mut library)
            .await
            .ok()?;
        let is_it = |it: &Session| it.id == id && it.head == label.seq;
        snapshot.restored(library).filter(is_it)
    }

    /// Writes a snapshot if `folded` is large enough. A failure has no consequence but a slower
    /// opening.
    pub(super) async fn keep_snapshot(&self, loaded: &Loaded, folded: u64) {
        if folded < PAYS_FROM {
            return;
        }
        let id = loaded.session.id;
        let Some(bytes) = bytes_of(&loaded.session, loaded.tail, &loaded.seal) else {
            return;
        };
        if let Err(error) = self.journal().keep_snapshot(id.0, bytes).await {
            tracing::debug!(session = %id, %error, "no snapshot was kept");
        }
    }
}

/// Serializes the snapshot, preceded by its hash.
fn bytes_of(session: &Session, tail: Tail, seal: &Seal) -> Option<Vec<u8>> {
    let mut content = serde_json::to_vec(&Label::of(session.id, tail)).ok()?;
    content.push(b'\n');
    content.extend(snapshot::of(session)?);
    if let Some(key) = seal.of_bodies(session.id).ok()? {
        content = key.seal_object(&content).ok()?.bytes.to_vec();
    }
    Some([Hash::of_object(&content).as_bytes().as_slice(), &content].concat())
}

fn checked(kept: &[u8]) -> Option<&[u8]> {
    let (hash, content) = kept.split_at_checked(32)?;
    (Hash::of_object(content).as_bytes() == hash).then_some(content)
}
