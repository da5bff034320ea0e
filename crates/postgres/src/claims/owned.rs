//! The streams that belong to this node, whatever it knows about them.

use deadpool_postgres::Object;
use recount_journal::Error;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::unowned::Sought;
use crate::server::query;

/// Returns streams of a node that need one, in the order of their ids.
pub(crate) async fn owned(
    client: &Object,
    schema: &str,
    sought: Sought,
    node: Uuid,
) -> Result<Vec<Uuid>, Error> {
    let select = format!(
        "SELECT h.session FROM {schema}.head h
         WHERE h.owner = $1 AND h.session > $2 AND EXISTS (
             SELECT FROM {schema}.work w WHERE w.session = h.session
                 AND (w.kind = ANY ($3) OR w.flags & $4 <> 0 OR w.deadline_us <= $5))
         ORDER BY h.session LIMIT $6"
    );
    let Sought {
        kinds,
        flags,
        due_us,
        after,
        limit,
    } = sought;
    let parameters: [&(dyn ToSql + Sync); 6] = [&node, &after, &kinds, &flags, &due_us, &limit];
    let rows = query(client, "find sessions of this node", &select, &parameters).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}
