//! The streams that requests with keys open, so that a repetition at any node finds the first.

use deadpool_postgres::Object;
use recount_journal::{Error, Opening};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::server::query;

/// The days for which a key is kept.
const KEPT_DAYS: f64 = 7.0;

/// The maximum number of old keys that each new one removes: more than one, so that they get fewer.
const REMOVED_MAX: i64 = 8;

/// Notes what a key opens, unless it opens something already. Returns the first note.
pub(crate) async fn note(
    client: &Object,
    schema: &str,
    key: &[u8; 32],
    opening: Opening,
) -> Result<Opening, Error> {
    // The update of nothing returns the row of another transaction, too, which it waits for.
    let insert = format!(
        "INSERT INTO {schema}.opening AS o (key, session, request) VALUES ($1, $2, $3)
         ON CONFLICT (key) DO UPDATE SET at = o.at RETURNING session, request"
    );
    let (key, request) = (key.as_slice(), opening.request.as_slice());
    let rows = query(
        client,
        "note what a key opens",
        &insert,
        &[&key, &opening.session, &request],
    )
    .await?;
    let row = rows.first();
    let found = row.map(|row| (row.get::<_, Uuid>(0), row.get::<_, Vec<u8>>(1)));
    let first = found.and_then(|(session, request)| {
        let request = request.try_into().ok()?;
        Some(Opening { session, request })
    });
    let first = first.ok_or_else(|| Error::Damaged {
        session: Some(opening.session),
        seq: None,
        what: "the table of openings has no hash of 32 bytes".to_owned(),
    })?;
    if first.session == opening.session {
        remove_old(client, schema).await?;
    }
    Ok(first)
}

async fn remove_old(client: &Object, schema: &str) -> Result<(), Error> {
    let delete = format!(
        "DELETE FROM {schema}.opening WHERE key IN (
             SELECT key FROM {schema}.opening
             WHERE at < clock_timestamp() - $1 * interval '1 day'
             ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED)"
    );
    let parameters: [&(dyn ToSql + Sync); 2] = [&KEPT_DAYS, &REMOVED_MAX];
    query(client, "remove old keys", &delete, &parameters).await?;
    Ok(())
}
