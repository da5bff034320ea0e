//! Requests to the owner of a stream, as rows that it takes and answers.

use std::time::Duration;

use deadpool_postgres::Object;
use recount_journal::{Asked, Error, causes};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::claims::unsigned;
use crate::server::{FREE, Server, query};

/// The maximum number of requests that a node takes at a time.
const PAGE: usize = 64;

/// The names in the statements: the schema, and the channel of notifications.
pub(crate) type Names<'n> = (&'n str, &'n str);

/// Stores a request, and removes old ones of the same stream.
pub(crate) async fn ask(
    client: &Object,
    (schema, channel): Names<'_>,
    session: Uuid,
    (request, within): (&str, Duration),
) -> Result<Uuid, Error> {
    let id = Uuid::new_v4();
    let insert = format!(
        "WITH old AS (
             DELETE FROM {schema}.command WHERE session = $1
                 AND until < clock_timestamp() - interval '1 hour'
         ), asked AS (
             INSERT INTO {schema}.command (session, id, request, until)
             VALUES ($1, $2, $3, clock_timestamp() + $5 * interval '1 second') RETURNING 1)
         SELECT pg_notify($4, '{FREE}') FROM asked"
    );
    let within = within.as_secs_f64();
    let parameters: [&(dyn ToSql + Sync); 5] = [&session, &id, &request, &channel, &within];
    query(client, "ask the owner of a session", &insert, &parameters).await?;
    Ok(id)
}

/// Takes the requests to the streams of a node that no other living node has taken. Its own that
/// are not under way are taken again: the answer to the last statement was lost.
///
/// Another taker counts as gone by its row: one without a row began after the statement's snapshot.
/// The row of a node that has taken a request is kept.
///
/// The few open requests lead to the streams. No index can serve `IS NOT DISTINCT FROM`; that of
/// owners would give all streams of the node.
pub(crate) async fn asked(
    client: &Object,
    schema: &str,
    node: Uuid,
    under_way: &[Uuid],
) -> Result<Vec<Asked>, Error> {
    let update = format!(
        "UPDATE {schema}.command c SET taker = $1
         FROM (SELECT c.session, c.id
               FROM {schema}.command c JOIN {schema}.head h ON h.session = c.session
               WHERE c.reply IS NULL AND c.until > clock_timestamp()
                   AND h.owner IS NOT DISTINCT FROM $1
                   AND (c.taker IS NULL OR (c.taker = $1 AND NOT c.id = ANY ($2))
                   OR (c.taker <> $1 AND EXISTS (SELECT FROM {schema}.node n
                       WHERE n.id = c.taker AND n.until <= clock_timestamp())))
               ORDER BY c.at LIMIT {PAGE} FOR UPDATE OF c SKIP LOCKED) s
         WHERE c.session = s.session AND c.id = s.id
         RETURNING c.session, c.id, c.request, c.done,
             (extract(epoch FROM c.at) * 1000000)::bigint"
    );
    let rows = query(client, "take requests", &update, &[&node, &under_way]).await?;
    let asked = rows.iter().map(|row| Asked {
        session: row.get(0),
        id: row.get(1),
        request: row.get(2),
        carried_out: row.get::<_, Option<i64>>(3).map(unsigned),
        at_us: row.get(4),
    });
    Ok(asked.collect())
}

/// Stores the reply to a request, or puts the request back without one.
pub(crate) async fn reply(
    client: &Object,
    (schema, channel): Names<'_>,
    (session, id, node): (Uuid, Uuid, Uuid),
    reply: Option<&str>,
) -> Result<(), Error> {
    let update = format!(
        "WITH replied AS (
             UPDATE {schema}.command
             SET reply = $3::text, taker = CASE WHEN $3::text IS NULL THEN NULL ELSE taker END
             WHERE session = $1 AND id = $2 AND taker = $5 AND reply IS NULL RETURNING 1)
         SELECT pg_notify($4, '{FREE}') FROM replied"
    );
    let parameters: [&(dyn ToSql + Sync); 5] = [&session, &id, &reply, &channel, &node];
    query(client, "reply to a request", &update, &parameters).await?;
    Ok(())
}

/// Returns the reply to a request, if it has one, and removes both: only the sender needs them.
///
/// They are removed after the read, since a reply that is lost on its way is read again. What is
/// not removed goes with the old requests of the stream.
pub(crate) async fn replied(
    server: &Server,
    (session, id): (Uuid, Uuid),
) -> Result<Option<String>, Error> {
    let schema = server.address.quoted_schema();
    let select = format!(
        "SELECT reply FROM {schema}.command WHERE session = $1 AND id = $2 AND reply IS NOT NULL"
    );
    let rows = server
        .read("read a reply", &select, &[&session, &id])
        .await?;
    let reply: Option<String> = rows.first().map(|row| row.get(0));
    if reply.is_some() {
        let delete = format!("DELETE FROM {schema}.command WHERE session = $1 AND id = $2");
        let removed = async {
            let client = server.reader().await?;
            query(&client, "remove a request", &delete, &[&session, &id]).await
        };
        if let Err(error) = removed.await {
            tracing::debug!(%session, error = %causes(&error), "a request with its reply stays");
        }
    }
    Ok(reply)
}

/// Removes a request that no node has taken. Returns false if one has.
pub(crate) async fn withdraw(
    client: &Object,
    schema: &str,
    (session, id): (Uuid, Uuid),
) -> Result<bool, Error> {
    let delete = format!(
        "DELETE FROM {schema}.command WHERE session = $1 AND id = $2 AND taker IS NULL RETURNING 1"
    );
    let rows = query(client, "withdraw a request", &delete, &[&session, &id]).await?;
    Ok(!rows.is_empty())
}
