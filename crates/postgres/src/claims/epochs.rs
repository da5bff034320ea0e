//! The streams that this node owns, and their epochs.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use uuid::Uuid;

/// The epochs of the streams that this node owns. An epoch grows with each new owner; the database
/// refuses an append with an older one.
#[derive(Default)]
pub(crate) struct Claims {
    epochs: Mutex<HashMap<Uuid, i64>>,
}

impl Claims {
    /// Returns the epoch of a stream, if this node owns it.
    pub(crate) fn epoch(&self, session: Uuid) -> Option<i64> {
        self.epochs().get(&session).copied()
    }

    /// Returns the number of streams that this node owns.
    pub(crate) fn count(&self) -> usize {
        self.epochs().len()
    }

    /// Notes that this node owns a stream.
    pub(crate) fn note(&self, session: Uuid, epoch: i64) {
        self.epochs().insert(session, epoch);
    }

    /// Notes that this node owns a stream no more.
    pub(crate) fn forget(&self, session: Uuid) -> Option<i64> {
        self.epochs().remove(&session)
    }

    /// Notes that another node owns a stream, unless this one has claimed it since.
    pub(crate) fn forget_epoch(&self, session: Uuid, epoch: i64) {
        let mut epochs = self.epochs();
        if epochs.get(&session) == Some(&epoch) {
            epochs.remove(&session);
        }
    }

    fn epochs(&self) -> MutexGuard<'_, HashMap<Uuid, i64>> {
        self.epochs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
