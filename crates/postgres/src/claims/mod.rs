//! The streams that this node owns, and their epochs.
//!
//! `owned_head` has the owner of a stream, `claiming` changes it. `unowned` has the streams without
//! an owner, `former` the nodes that are gone.

mod claiming;
pub(crate) mod former;
mod owned_head;
mod unowned;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use recount_journal::{Error, Hash};
use uuid::Uuid;

pub(crate) use claiming::{claim, owner, release};
pub(crate) use owned_head::OwnedHead;
pub(crate) use unowned::{Sought, unowned};

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

/// A number of the database that is never negative.
pub(crate) fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// A number for the database. Larger ones do not occur: no stream has so many records.
pub(crate) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A hash of the database.
pub(crate) fn hash(bytes: &[u8]) -> Result<Hash, Error> {
    let bytes = <[u8; 32]>::try_from(bytes).map_err(|_| Error::Damaged {
        session: None,
        seq: None,
        what: format!(
            "a hash in the database has {} bytes instead of 32",
            bytes.len()
        ),
    })?;
    Ok(Hash::from_bytes(bytes))
}
