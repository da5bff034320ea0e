//! Streams that need a node and have none.

use std::collections::BTreeSet;

use deadpool_postgres::Object;
use recount_journal::Error;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::server::query;

/// The owner of a stream that was released, and may need another one. No node has this id.
pub(super) const RELEASED: Uuid = Uuid::nil();

/// The number of streams without an owner that a statement looks at.
const LOOK: i64 = 256;

/// The parameters of [`unowned`].
pub(crate) struct Sought {
    pub(crate) kinds: Vec<String>,
    pub(crate) flags: i64,
    pub(crate) due_us: i64,
    pub(crate) after: Uuid,
    pub(crate) limit: i64,
}

/// Returns streams that need a node and have none, in the order of their ids.
///
/// Most open items are of streams that only wait, or have an owner, so the look begins with the
/// streams that lost theirs. They are few: those that need nothing but their deadlines lose even
/// the name of the former owner on the way.
pub(crate) async fn unowned(
    client: &Object,
    schema: &str,
    sought: Sought,
) -> Result<Vec<Uuid>, Error> {
    let limit = usize::try_from(sought.limit).unwrap_or(usize::MAX);
    let mut found: BTreeSet<Uuid> = due(client, schema, &sought).await?.into_iter().collect();
    let (mut after, mut left) = (sought.after, BTreeSet::new());
    loop {
        let (needing, last) = left_behind(client, schema, (&sought, after)).await?;
        left.extend(needing);
        match last {
            Some(last) if left.len() < limit => after = last,
            Some(_) | None => break,
        }
    }
    found.append(&mut left);
    Ok(found.into_iter().take(limit).collect())
}

/// Returns the streams without an owner that have a deadline which has passed.
async fn due(client: &Object, schema: &str, sought: &Sought) -> Result<Vec<Uuid>, Error> {
    let select = format!(
        "WITH due AS MATERIALIZED (
             SELECT DISTINCT session FROM {schema}.work WHERE deadline_us <= $1
         )
         SELECT d.session FROM due d JOIN {schema}.head h ON h.session = d.session
         WHERE d.session > $2 AND (h.owner IS NULL OR NOT EXISTS (
             SELECT FROM {schema}.node n WHERE n.id = h.owner AND n.until > clock_timestamp()))
         ORDER BY d.session LIMIT $3"
    );
    let parameters: [&(dyn ToSql + Sync); 3] = [&sought.due_us, &sought.after, &sought.limit];
    let doing = "find sessions without an owner";
    let rows = query(client, doing, &select, &parameters).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Looks at streams that were released, or whose owners are gone. Returns those that need a node,
/// and the last one if there may be more behind it.
async fn left_behind(
    client: &Object,
    schema: &str,
    (sought, after): (&Sought, Uuid),
) -> Result<(Vec<Uuid>, Option<Uuid>), Error> {
    let statement = statement(schema);
    let Sought { kinds, flags, .. } = sought;
    let parameters: [&(dyn ToSql + Sync); 4] = [kinds, flags, &after, &LOOK];
    let doing = "find sessions without an owner";
    let rows = query(client, doing, &statement, &parameters).await?;
    let is_full = i64::try_from(rows.len()).is_ok_and(|it| it >= LOOK);
    let last = rows.last().map(|row| row.get(0)).filter(|_| is_full);
    let needing = rows.iter().filter(|row| row.get(1)).map(|row| row.get(0));
    Ok((needing.collect(), last))
}

/// The statement of [`left_behind`].
///
/// The owners are found one by one in the index, each behind the last. What was released, or was
/// left by a node that is long gone, and needs nothing is then of no owner, so it is not looked at
/// again. A request that a lost owner took needs one: its reply is due. A claim since the snapshot
/// has another epoch. A lease that ended a minute ago was not renewed since the snapshot.
fn statement(schema: &str) -> String {
    format!(
        "WITH RECURSIVE owners AS (
             (SELECT owner FROM {schema}.head WHERE owner IS NOT NULL ORDER BY owner LIMIT 1)
             UNION ALL
             SELECT (SELECT h.owner FROM {schema}.head h WHERE h.owner > o.owner
                     ORDER BY h.owner LIMIT 1)
             FROM owners o WHERE o.owner IS NOT NULL
         ), gone AS MATERIALIZED (
             SELECT o.owner, COALESCE(n.until < clock_timestamp() - interval '1 minute', true)
                 AS is_long_gone
             FROM owners o LEFT JOIN {schema}.node n ON n.id = o.owner
             WHERE o.owner IS NOT NULL
                 AND (o.owner = '{RELEASED}' OR COALESCE(n.until <= clock_timestamp(), true))
         ), looked AS MATERIALIZED (
             SELECT h.session, h.owner, h.epoch, h.is_long_gone,
                 EXISTS (SELECT FROM {schema}.work w WHERE w.session = h.session
                     AND (w.kind = ANY ($1) OR w.flags & $2 <> 0))
                 OR EXISTS (SELECT FROM {schema}.command c WHERE c.session = h.session
                     AND c.reply IS NULL AND c.until > clock_timestamp()) AS needs
             FROM (SELECT h.session, h.owner, h.epoch, g.is_long_gone
                   FROM gone g CROSS JOIN LATERAL (
                       SELECT session, owner, epoch FROM {schema}.head
                       WHERE owner = g.owner AND session > $3 ORDER BY session LIMIT $4) h
                   ORDER BY h.session LIMIT $4) h
         ), locked AS MATERIALIZED (
             SELECT h.session FROM looked l JOIN {schema}.head h ON h.session = l.session
             WHERE NOT l.needs AND l.is_long_gone AND h.owner = l.owner AND h.epoch = l.epoch
             ORDER BY h.session FOR NO KEY UPDATE OF h SKIP LOCKED
         ), freed AS (
             UPDATE {schema}.head h SET owner = NULL FROM locked l WHERE h.session = l.session
         )
         SELECT session, needs FROM looked ORDER BY session"
    )
}
