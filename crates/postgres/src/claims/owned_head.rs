//! The head of a stream with its owner.

use recount_journal::{Error, Head};
use tokio_postgres::Row;
use uuid::Uuid;

use super::{hash, unsigned};

/// The head of a stream, and who owns it.
pub(crate) struct OwnedHead {
    pub(crate) head: Head,
    pub(crate) owner: Option<Uuid>,
    pub(crate) epoch: i64,
}

impl OwnedHead {
    /// Reads the columns `seq, hash, at_us, owner, epoch`, from an index on.
    pub(crate) fn of(row: &Row, at: usize) -> Result<Self, Error> {
        Ok(Self {
            head: Head {
                seq: unsigned(row.get(at)),
                hash: hash(row.get(at + 1))?,
                at_us: row.get(at + 2),
            },
            owner: row.get(at + 3),
            epoch: row.get(at + 4),
        })
    }
}
