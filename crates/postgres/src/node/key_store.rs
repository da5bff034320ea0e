//! The mark of the nodes' key store.

use deadpool_postgres::Object;
use recount_journal::Error;
use uuid::Uuid;

use crate::server::query;

/// Notes a mark if there is none, and returns the one that is noted.
pub(crate) async fn key_mark(
    client: &Object,
    schema: &str,
    mark: Option<Uuid>,
) -> Result<Option<Uuid>, Error> {
    if let Some(mark) = mark {
        let insert = format!(
            "INSERT INTO {schema}.key_store (mark) VALUES ($1) ON CONFLICT (one) DO NOTHING"
        );
        query(client, "note the key store", &insert, &[&mark]).await?;
    }
    let select = format!("SELECT mark FROM {schema}.key_store");
    let rows = query(client, "find the mark of the key store", &select, &[]).await?;
    Ok(rows.first().map(|row| row.get(0)))
}
