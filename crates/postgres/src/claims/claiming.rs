//! The changes of owners.

use deadpool_postgres::Object;
use futures_util::future;
use recount_journal::Error;
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::unowned::RELEASED;
use crate::error::failed;
use crate::server::{FREE, Server, query};

/// The wait of a claim for rows that something else has locked.
const LOCKED_WITHIN: &str = "1s";

/// Makes a node the owner of streams whose owners released them, or whose owners' leases have
/// ended. Returns the epochs of those that it owns now.
///
/// Streams whose rows stay locked are left out after a second, so that they do not keep the others.
///
/// # Errors
/// [`Error::Poisoned`] for a node whose own lease has ended.
pub(crate) async fn claim(
    client: &Object,
    schema: &str,
    sessions: &[Uuid],
    node: Uuid,
) -> Result<Vec<(Uuid, i64)>, Error> {
    let rows = match claim_all(client, schema, sessions, node).await {
        Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => {
            claim_unlocked(client, schema, sessions, node).await
        }
        outcome => outcome,
    };
    let rows = rows.map_err(failed("claim sessions"))?;
    let claimed = rows
        .iter()
        .map(|row| Some((row.get(0), row.get::<_, Option<_>>(1)?)));
    let ended = || Error::Poisoned {
        cause: "the lease of this node ended, as the database says".to_owned(),
    };
    claimed.collect::<Option<_>>().ok_or_else(ended)
}

/// Locks the rows, and waits for each. They are locked before anything is compared: a lock may be
/// waited for, a lease be renewed meanwhile, and a node begin and claim one of them.
fn lock(schema: &str) -> String {
    format!(
        "SELECT session FROM {schema}.head WHERE session = ANY ($1) ORDER BY session
         FOR NO KEY UPDATE"
    )
}

/// A statement of its own, so that it sees every node that owned one of the rows as they were
/// locked. A node without a row owned nothing when it was removed. A lease that has ended cannot be
/// renewed. A session that this node owns and has forgotten is claimed anew, and the new epoch ends
/// what it had under way.
fn update(schema: &str) -> String {
    format!(
        "WITH nodes AS MATERIALIZED (
             SELECT id, until FROM {schema}.node
             WHERE id = $2 OR id IN (SELECT owner FROM {schema}.head WHERE session = ANY ($1))
             ORDER BY id FOR SHARE
         ), living AS MATERIALIZED (
             SELECT id FROM nodes WHERE until > clock_timestamp()
         ), claimed AS (
             UPDATE {schema}.head h SET owner = $2, epoch = h.epoch + 1
             WHERE h.session = ANY ($1) AND $2 IN (SELECT id FROM living)
                 AND (h.owner = $2 OR h.owner IS NULL OR h.owner NOT IN (SELECT id FROM living))
             RETURNING h.session, h.epoch
         )
         SELECT session, epoch FROM claimed
         UNION ALL SELECT $2, NULL WHERE $2 NOT IN (SELECT id FROM living)"
    )
}

/// Begins a transaction of a claim. A server may have another isolation by default, under which
/// both statements would see the same.
fn begin() -> String {
    format!("BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = '{LOCKED_WITHIN}'")
}

/// Claims streams in one round trip.
async fn claim_all(
    client: &Object,
    schema: &str,
    sessions: &[Uuid],
    node: Uuid,
) -> Result<Vec<Row>, tokio_postgres::Error> {
    let lock = client.prepare_cached(&lock(schema)).await?;
    let update = client.prepare_cached(&update(schema)).await?;
    let (node, sessions): (&(dyn ToSql + Sync), &(dyn ToSql + Sync)) = (&node, &sessions);
    let (first, second) = ([sessions], [sessions, node]);
    let begin = begin();
    let claimed = future::try_join4(
        client.batch_execute(&begin),
        client.execute(&lock, &first),
        client.query(&update, &second),
        client.batch_execute("COMMIT"),
    );
    match claimed.await {
        Ok(((), _, rows, ())) => Ok(rows),
        Err(error) => rolled_back(client, error).await,
    }
}

/// Claims those of the streams whose rows can be locked at once.
async fn claim_unlocked(
    client: &Object,
    schema: &str,
    sessions: &[Uuid],
    node: Uuid,
) -> Result<Vec<Row>, tokio_postgres::Error> {
    let claiming = async {
        client.batch_execute(&begin()).await?;
        let lock = format!("{} SKIP LOCKED", lock(schema));
        let locked = client.query(&lock, &[&sessions]).await?;
        let locked: Vec<Uuid> = locked.iter().map(|row| row.get(0)).collect();
        let update = client.prepare_cached(&update(schema)).await?;
        let rows = client.query(&update, &[&locked, &node]).await?;
        client.batch_execute("COMMIT").await?;
        let left = sessions.len().saturating_sub(locked.len());
        tracing::warn!(
            left,
            "sessions could not be claimed: something else has locked their rows"
        );
        Ok(rows)
    };
    match claiming.await {
        Ok(rows) => Ok(rows),
        Err(error) => rolled_back(client, error).await,
    }
}

/// Ends a transaction that failed.
async fn rolled_back(
    client: &Object,
    error: tokio_postgres::Error,
) -> Result<Vec<Row>, tokio_postgres::Error> {
    // The transaction is over either way; an error here is that of the connection.
    let _ = client.batch_execute("ROLLBACK").await;
    Err(error)
}

/// Returns the name of the node that owns a stream, if its lease is valid.
pub(crate) async fn owner(server: &Server, session: Uuid) -> Result<Option<String>, Error> {
    let schema = server.address.quoted_schema();
    let select = format!(
        "SELECT n.name FROM {schema}.head h JOIN {schema}.node n ON n.id = h.owner
         WHERE h.session = $1 AND n.until > clock_timestamp()"
    );
    let doing = "find the owner of a session";
    let rows = server.read(doing, &select, &[&session]).await?;
    Ok(rows.first().map(|row| row.get(0)))
}

/// Gives up a stream, so that another node can claim it at once. Its owner is then [`RELEASED`]
/// until a node has looked whether it needs one.
pub(crate) async fn release(
    client: &Object,
    (schema, channel): (&str, &str),
    (session, epoch): (Uuid, i64),
    node: Uuid,
) -> Result<(), Error> {
    let update = format!(
        "WITH released AS (
             UPDATE {schema}.head SET owner = '{RELEASED}'
             WHERE session = $1 AND owner = $2 AND epoch = $3 RETURNING 1)
         SELECT pg_notify($4, '{FREE}') FROM released"
    );
    let parameters: [&(dyn ToSql + Sync); 4] = [&session, &node, &epoch, &channel];
    query(client, "release a session", &update, &parameters).await?;
    Ok(())
}
