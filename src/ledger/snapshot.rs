//! What folding a long session came to, kept beside the journal, so that the next opening folds
//! only what came since.
//!
//! A snapshot is never trusted over the stream. Its label says of which records, by which program
//! and rules it was made; it counts only where all of that is as it is now: the last record that it
//! folded stands in the journal with the same hash, and so do all before it, since each names the
//! hash of the one before. Absent, torn, stale or of another program, it is as if there were none.
//! Of a sealed session it is sealed as a whole by the session's key.

use recount_journal::Hash;
use recount_journal::seal::is_sealed_object;
use serde::{Deserialize, Serialize};

use super::line::Entry;
use super::store::{Loaded, Tail};
use super::{Ledger, Seal};
use crate::session::snapshot::{self, Snapshot};
use crate::session::{Library, RULES, Seq, Session, SessionId};

/// How many records an opening must have folded for a snapshot to pay.
pub(crate) const PAYS_FROM: u64 = 4_096;

/// The shape of what is kept. A change of how records are folded is a new one, too, where it comes
/// without a new version of the program.
const FORMAT: u32 = 5;

/// Of what a snapshot was made, and by whom.
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
    /// The session as a snapshot has it, where one counts. Whatever is wrong with it, folding the
    /// records says what is wrong with them.
    pub(super) async fn snapshot_of(&self, id: SessionId) -> Option<Session> {
        let kept = self.journal().snapshot(id.0).await.ok()??;
        let content = checked(&kept)?;
        let first = self.journal().read(id.0, 1, 1).await.ok()?;
        let first = Entry::read(id, Seq(1), first.into_iter().next()?, None).ok()?;
        if first.is_sealed() && !is_sealed_object(content) {
            // Whoever wrote it had no key, so it was nobody who folded the session.
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

    /// Keeps what `folded` records came to, where that pays. A journal that cannot keep it is none
    /// the worse.
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

/// The hash of the rest stands in front.
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
