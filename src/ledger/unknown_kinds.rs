//! Treatment of records whose kinds are unknown.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::session::{Seq, SessionId};

/// The treatment of a record whose kind only a newer version of Recount knows. The record stays in
/// the journal in any case, and `recount log` shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownKinds {
    /// Reading the session fails with [`Error::Unreadable`](super::Error::Unreadable), because the
    /// record may change later decisions.
    #[default]
    Refuse,
    /// The record is skipped, and a `tracing` warning names it. Decisions that depend on it do not
    /// follow then, so a replay may report a divergence. A record whose body names newer `rules` is
    /// not skipped: reading fails with [`Error::NewerRules`](super::Error::NewerRules).
    Skip,
}

/// A skipped record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnknownRecord {
    /// The session.
    pub session: SessionId,
    /// The record's seq.
    pub seq: Seq,
    /// The record's kind.
    pub kind: String,
}

/// The set of skipped records, shared between clones. See
/// [`Ledger::noting`](super::Ledger::noting).
#[derive(Clone, Debug, Default)]
pub struct PassedOver(Arc<Mutex<BTreeSet<UnknownRecord>>>);

impl PassedOver {
    /// Returns the records skipped so far, by session and seq.
    pub fn records(&self) -> Vec<UnknownRecord> {
        self.lock().iter().cloned().collect()
    }

    pub(super) fn note(&self, session: SessionId, seq: Seq, kind: &str) {
        let kind = kind.to_owned();
        self.lock().insert(UnknownRecord { session, seq, kind });
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<UnknownRecord>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
