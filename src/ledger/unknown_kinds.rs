//! Records of kinds that this program does not know.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::session::{Seq, SessionId};

/// What becomes of a record whose kind this program does not know, because a newer one wrote it. It
/// stays in the journal either way, and `recount log` shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownKinds {
    /// The session is not read, with [`Error::Unreadable`](super::Error::Unreadable): what is not
    /// understood may change what follows.
    #[default]
    Refuse,
    /// It is passed over, as if it were not there, and a warning of `tracing` names it. What was
    /// decided because of it is then not what follows, so a replay may tell a divergence.
    Skip,
}

/// A record that was passed over.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnknownRecord {
    /// Whose.
    pub session: SessionId,
    /// Its place.
    pub seq: Seq,
    /// Its kind, as the newer program named it.
    pub kind: String,
}

/// Which records were passed over, each once; clones share one list. See
/// [`Ledger::noting`](super::Ledger::noting).
#[derive(Clone, Debug, Default)]
pub struct PassedOver(Arc<Mutex<BTreeSet<UnknownRecord>>>);

impl PassedOver {
    /// What was passed over so far, by session and seq.
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
