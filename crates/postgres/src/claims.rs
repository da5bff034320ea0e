//! The streams that this node owns, and their epochs.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use deadpool_postgres::Object;
use recount_journal::{Error, Hash, Head};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::server::{FREE, query};

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

/// Makes a node the owner of streams whose owners released them, or whose owners' leases have
/// ended. Returns the epochs of those that it owns now.
pub(crate) async fn claim(
    client: &Object,
    schema: &str,
    sessions: &[Uuid],
    node: Uuid,
) -> Result<Vec<(Uuid, i64)>, Error> {
    // The rows are locked before anything is compared: a lock may be waited for, and a lease be
    // renewed meanwhile. A lease that has ended cannot be renewed. A session that this node owns
    // and has forgotten is claimed anew, and the new epoch ends what it had under way.
    let update = format!(
        "WITH locked AS MATERIALIZED (
             SELECT session, owner FROM {schema}.head WHERE session = ANY ($1)
             ORDER BY session FOR NO KEY UPDATE
         ), owners AS MATERIALIZED (
             SELECT id, until FROM {schema}.node WHERE id IN (SELECT owner FROM locked)
             ORDER BY id FOR SHARE
         )
         UPDATE {schema}.head h SET owner = $2, epoch = h.epoch + 1
         FROM locked l LEFT JOIN owners o ON o.id = l.owner
         WHERE h.session = l.session AND (l.owner IS NULL OR l.owner = $2
             OR o.until IS NULL OR o.until <= clock_timestamp())
         RETURNING h.session, h.epoch"
    );
    let rows = query(client, "claim sessions", &update, &[&sessions, &node]).await?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// Returns the name of the node that owns a stream, if its lease is valid.
pub(crate) async fn owner(
    client: &Object,
    schema: &str,
    session: Uuid,
) -> Result<Option<String>, Error> {
    let select = format!(
        "SELECT n.name FROM {schema}.head h JOIN {schema}.node n ON n.id = h.owner
         WHERE h.session = $1 AND n.until > clock_timestamp()"
    );
    let rows = query(client, "find the owner of a session", &select, &[&session]).await?;
    Ok(rows.first().map(|row| row.get(0)))
}

/// Returns streams that need a node and have none.
pub(crate) async fn unowned(
    client: &Object,
    schema: &str,
    sought: OwnedSearch,
) -> Result<Vec<Uuid>, Error> {
    let select = format!(
        "SELECT w.session FROM (
             SELECT session FROM {schema}.work WHERE kind = ANY ($1) AND session > $4
             UNION
             SELECT session FROM {schema}.work WHERE deadline_us <= $2 AND session > $4
             UNION
             SELECT session FROM {schema}.work WHERE flags & $3 <> 0 AND session > $4) w
         JOIN {schema}.head h ON h.session = w.session
         WHERE h.owner IS NULL OR NOT EXISTS (
             SELECT FROM {schema}.node n WHERE n.id = h.owner AND n.until > clock_timestamp())
         ORDER BY w.session LIMIT $5"
    );
    let OwnedSearch {
        kinds,
        flags,
        due_us,
        after,
        limit,
    } = sought;
    let doing = "find sessions without an owner";
    let parameters: [&(dyn ToSql + Sync); 5] = [&kinds, &due_us, &flags, &after, &limit];
    let rows = query(client, doing, &select, &parameters).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// The parameters of [`unowned`].
pub(crate) struct OwnedSearch {
    pub(crate) kinds: Vec<String>,
    pub(crate) flags: i64,
    pub(crate) due_us: i64,
    pub(crate) after: Uuid,
    pub(crate) limit: i64,
}

/// Gives up a stream, so that another node can claim it at once.
pub(crate) async fn release(
    client: &Object,
    (schema, channel): (&str, &str),
    (session, epoch): (Uuid, i64),
    node: Uuid,
) -> Result<(), Error> {
    let update = format!(
        "WITH released AS (
             UPDATE {schema}.head SET owner = NULL
             WHERE session = $1 AND owner = $2 AND epoch = $3 RETURNING 1)
         SELECT pg_notify($4, '{FREE}') FROM released"
    );
    let parameters: [&(dyn ToSql + Sync); 4] = [&session, &node, &epoch, &channel];
    query(client, "release a session", &update, &parameters).await?;
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
        what: format!(
            "a hash in the database has {} bytes instead of 32",
            bytes.len()
        ),
    })?;
    Ok(Hash::from_bytes(bytes))
}
