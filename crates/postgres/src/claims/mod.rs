//! The owners of streams.
//!
//! `epochs` has those that this node owns, `owned_head` the owner of a stream. `claiming` changes
//! owners. `unowned` has the streams without one, `share` spreads them over the nodes, `owned` has
//! those of this node that need it, and `former` the nodes that are gone.

mod claiming;
mod epochs;
pub(crate) mod former;
mod owned;
mod owned_head;
mod share;
mod unowned;

use recount_journal::{Error, Hash};

pub(crate) use claiming::{claim, owner, release};
pub(crate) use epochs::Claims;
pub(crate) use owned::owned;
pub(crate) use owned_head::OwnedHead;
pub(crate) use share::share;
pub(crate) use unowned::{Sought, unowned};

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
