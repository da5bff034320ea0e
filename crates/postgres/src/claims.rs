//! The streams that this node owns, and their epochs.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use recount_journal::{Error, Hash, Head};
use tokio_postgres::{Client, Row};
use uuid::Uuid;

use crate::error::failed;

/// The epochs of the streams that this node owns. An epoch grows with each new owner; the database
/// refuses an append with an older one.
#[derive(Default)]
pub(crate) struct Claims {
    epochs: Mutex<HashMap<Uuid, i64>>,
}

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

    fn epochs(&self) -> MutexGuard<'_, HashMap<Uuid, i64>> {
        self.epochs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes a node the owner of a stream whose owner released it, or whose lease has ended. Returns
/// `None` if no such stream exists.
///
/// # Errors
/// [`Error::Owned`] if the lease of another node is still valid.
pub(crate) async fn claim(
    client: &Client,
    schema: &str,
    session: Uuid,
    node: Uuid,
) -> Result<Option<i64>, Error> {
    // The end of a lease is final: a node whose time has passed cannot renew it. So what is true
    // when the condition is checked stays true.
    let update = format!(
        "UPDATE {schema}.head h SET owner = $2, epoch = h.epoch + 1
         WHERE h.session = $1 AND (h.owner IS NULL OR h.owner = $2 OR NOT EXISTS (
             SELECT FROM {schema}.node n WHERE n.id = h.owner AND n.until > clock_timestamp()))
         RETURNING h.epoch"
    );
    let doing = || failed("claim a session");
    let claimed = client.query_opt(&update, &[&session, &node]).await;
    if let Some(row) = claimed.map_err(doing())? {
        return Ok(Some(row.get(0)));
    }
    let owner = format!(
        "SELECT n.name FROM {schema}.head h LEFT JOIN {schema}.node n ON n.id = h.owner
         WHERE h.session = $1"
    );
    let owner = client.query_opt(&owner, &[&session]).await.map_err(doing())?;
    match owner {
        Some(row) => Err(Error::Owned {
            session,
            owner: row.get::<_, Option<String>>(0).unwrap_or_default(),
        }),
        None => Ok(None),
    }
}

/// Gives up a stream, so that another node can claim it at once.
pub(crate) async fn release(
    client: &Client,
    schema: &str,
    (session, epoch): (Uuid, i64),
    node: Uuid,
) -> Result<(), Error> {
    let update = format!(
        "UPDATE {schema}.head SET owner = NULL WHERE session = $1 AND owner = $2 AND epoch = $3"
    );
    let update = client.execute(&update, &[&session, &node, &epoch]).await;
    update.map_err(failed("release a session"))?;
    Ok(())
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
        what: format!("a hash in the database has {} bytes instead of 32", bytes.len()),
    })?;
    Ok(Hash::from_bytes(bytes))
}
