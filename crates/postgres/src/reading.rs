//! Reads of records, heads, open work and objects.

use std::sync::Arc;

use recount_journal::{Error, Hash, Head, Line, OpenItem, Span};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::claims::{hash, signed, unsigned};
use crate::server::Server;

/// The columns of an open item, in the order of [`item`].
const ITEM: &str = "session, item, kind, since_us, deadline_us, request, flags";

/// The reads of a journal.
#[derive(Clone)]
pub(crate) struct Reading {
    server: Arc<Server>,
    schema: String,
}

impl Reading {
    pub(crate) fn new(server: Arc<Server>) -> Self {
        let schema = server.address.quoted_schema();
        Self { server, schema }
    }

    /// Returns the records of a stream from a seq.
    pub(crate) async fn records(
        self,
        session: Uuid,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Line>, Error> {
        let schema = &self.schema;
        // The append that has the first record begins at it, or before.
        let select = format!(
            "SELECT first, last, lines FROM {schema}.append
             WHERE session = $1 AND last >= $2 AND first >= COALESCE(
                 (SELECT max(first) FROM {schema}.append WHERE session = $1 AND first <= $2), 0)
             ORDER BY first LIMIT $3"
        );
        let from = from.max(1);
        let most = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = self
            .rows("read records", &select, &[&session, &signed(from), &most])
            .await?;
        let (mut lines, mut next) = (Vec::new(), from);
        for row in rows {
            let (first, last) = (unsigned(row.get(0)), unsigned(row.get(1)));
            if first > next {
                return Err(damaged(session, next, "the row of the record is missing"));
            }
            let skip = usize::try_from(next - first).unwrap_or(usize::MAX);
            let of_row = whole(session, (first, last), row.get(2))?;
            lines.extend(of_row.into_iter().skip(skip));
            next = last + 1;
            if lines.len() >= limit {
                break;
            }
        }
        lines.truncate(limit);
        Ok(lines)
    }

    /// Returns the records of several spans, in their order.
    ///
    /// One statement finds the append that has the first record of each span. Most spans end there;
    /// the others are read on by themselves.
    pub(crate) async fn spans(self, spans: Vec<Span>) -> Result<Vec<Vec<Line>>, Error> {
        let schema = &self.schema;
        let select = format!(
            "SELECT s.n, a.first, a.last, a.lines
             FROM unnest($1::uuid[], $2::bigint[]) WITH ORDINALITY AS s(session, \"from\", n)
             CROSS JOIN LATERAL (
                 SELECT first, last, lines FROM {schema}.append
                 WHERE session = s.session AND first <= s.\"from\"
                 ORDER BY first DESC LIMIT 1) a"
        );
        let mut pages = vec![Vec::new(); spans.len()];
        let sessions: Vec<Uuid> = spans.iter().map(|span| span.session).collect();
        let firsts: Vec<i64> = spans.iter().map(|span| signed(span.from.max(1))).collect();
        let rows = self
            .rows("read records", &select, &[&sessions, &firsts])
            .await?;
        for row in rows {
            let n = usize::try_from(row.get::<_, i64>(0) - 1).unwrap_or(usize::MAX);
            let (Some(span), Some(page)) = (spans.get(n), pages.get_mut(n)) else {
                continue;
            };
            let (first, last) = (unsigned(row.get(1)), unsigned(row.get(2)));
            let skipped = span.from.max(1).saturating_sub(first);
            let lines: &[u8] = row.get(3);
            check_count(span.session, (first, last), lines)?;
            *page = divided_part(lines, skipped, span.limit);
        }
        for (span, page) in spans.iter().zip(&mut pages) {
            if page.len() >= span.limit {
                continue;
            }
            let (from, left) = (
                span.from.max(1) + page.len() as u64,
                span.limit - page.len(),
            );
            let more = self.clone().records(span.session, from, left).await?;
            page.extend(more);
        }
        Ok(pages)
    }

    /// Returns the head of a stream.
    pub(crate) async fn head(self, session: Uuid) -> Result<Option<Head>, Error> {
        let schema = &self.schema;
        let select =
            format!("SELECT session, seq, hash, at_us FROM {schema}.head WHERE session = $1");
        let rows = self.rows("read a head", &select, &[&session]).await?;
        let head = rows.first().map(named_head).transpose()?;
        Ok(head.map(|(_, head)| head))
    }

    /// Returns the streams behind one, without the journal's own.
    pub(crate) async fn sessions(
        self,
        after: Option<Uuid>,
        limit: usize,
    ) -> Result<Vec<(Uuid, Head)>, Error> {
        let schema = &self.schema;
        let select = format!(
            "SELECT session, seq, hash, at_us FROM {schema}.head WHERE session > $1
             ORDER BY session LIMIT $2"
        );
        let (after, limit) = (after.unwrap_or(Uuid::nil()), count(limit));
        let rows = self
            .rows("list sessions", &select, &[&after, &limit])
            .await?;
        rows.iter().map(named_head).collect()
    }

    /// Returns the open items behind one.
    pub(crate) async fn items(
        self,
        after: Option<(Uuid, u64)>,
        limit: usize,
    ) -> Result<Vec<OpenItem>, Error> {
        let schema = &self.schema;
        let select = format!(
            "SELECT {ITEM} FROM {schema}.work WHERE (session, item) > ($1, $2)
             ORDER BY session, item LIMIT $3"
        );
        let (session, item) = place(after);
        let rows = self
            .rows("list open work", &select, &[&session, &item, &count(limit)])
            .await?;
        Ok(rows.iter().map(self::item).collect())
    }

    /// Returns the open items of some kinds behind one.
    pub(crate) async fn items_of_kinds(
        self,
        kinds: Vec<String>,
        after: Option<(Uuid, u64)>,
        limit: usize,
    ) -> Result<Vec<OpenItem>, Error> {
        let schema = &self.schema;
        let select = format!(
            "SELECT w.* FROM (SELECT DISTINCT unnest($1::text[]) AS kind) k
             CROSS JOIN LATERAL (
                 SELECT {ITEM} FROM {schema}.work w
                 WHERE w.kind = k.kind AND (w.session, w.item) > ($2, $3)
                 ORDER BY w.session, w.item LIMIT $4) w
             ORDER BY w.session, w.item LIMIT $4"
        );
        let (session, item) = place(after);
        let limit = count(limit);
        let rows = self
            .rows(
                "list open work",
                &select,
                &[&kinds, &session, &item, &limit],
            )
            .await?;
        Ok(rows.iter().map(self::item).collect())
    }

    /// Returns the open items of a stream.
    pub(crate) async fn items_of(self, session: Uuid) -> Result<Vec<OpenItem>, Error> {
        let schema = &self.schema;
        let select = format!("SELECT {ITEM} FROM {schema}.work WHERE session = $1 ORDER BY item");
        let rows = self.rows("list open work", &select, &[&session]).await?;
        Ok(rows.iter().map(item).collect())
    }

    /// Returns the items whose deadline is at or before a time, earliest first.
    pub(crate) async fn due(self, until_us: i64, limit: usize) -> Result<Vec<OpenItem>, Error> {
        let schema = &self.schema;
        let select = format!(
            "SELECT {ITEM} FROM {schema}.work WHERE deadline_us <= $1
             ORDER BY deadline_us, session, item LIMIT $2"
        );
        let rows = self
            .rows("list deadlines", &select, &[&until_us, &count(limit)])
            .await?;
        Ok(rows.iter().map(item).collect())
    }

    /// Returns the session and the item of a request id.
    pub(crate) async fn request(self, request: Uuid) -> Result<Option<(Uuid, u64)>, Error> {
        let schema = &self.schema;
        let select = format!("SELECT session, item FROM {schema}.request WHERE request = $1");
        let rows = self.rows("find a request", &select, &[&request]).await?;
        Ok(rows.first().map(|row| (row.get(0), unsigned(row.get(1)))))
    }

    /// Returns the content of an object.
    pub(crate) async fn object(self, hash: Hash) -> Result<Option<Arc<[u8]>>, Error> {
        let schema = &self.schema;
        let select = format!("SELECT content FROM {schema}.object WHERE hash = $1");
        let address = hash.as_bytes().as_slice();
        let rows = self.rows("read an object", &select, &[&address]).await?;
        Ok(rows.first().map(|row| row.get::<_, &[u8]>(0).into()))
    }

    /// Returns the snapshot of a stream.
    pub(crate) async fn snapshot(self, session: Uuid) -> Result<Option<Vec<u8>>, Error> {
        let schema = &self.schema;
        let select = format!("SELECT bytes FROM {schema}.snapshot WHERE session = $1");
        let rows = self.rows("read a snapshot", &select, &[&session]).await?;
        Ok(rows.first().map(|row| row.get(0)))
    }

    /// Stores the snapshot of a stream.
    pub(crate) async fn keep_snapshot(self, session: Uuid, bytes: Vec<u8>) -> Result<(), Error> {
        let schema = &self.schema;
        let insert = format!(
            "INSERT INTO {schema}.snapshot (session, bytes) VALUES ($1, $2)
             ON CONFLICT (session) DO UPDATE SET bytes = excluded.bytes"
        );
        self.rows("store a snapshot", &insert, &[&session, &bytes])
            .await?;
        Ok(())
    }

    async fn rows(
        &self,
        doing: &str,
        statement: &str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Error> {
        self.server.read(doing, statement, parameters).await
    }
}

/// The lines of an append that has the records `first` to `last`.
pub(crate) fn whole(
    session: Uuid,
    (first, last): (u64, u64),
    lines: &[u8],
) -> Result<Vec<Line>, Error> {
    check_count(session, (first, last), lines)?;
    Ok(divided(lines))
}

/// Checks that an append has as many lines as records. Who reads them checks what they say.
fn check_count(session: Uuid, (first, last): (u64, u64), lines: &[u8]) -> Result<(), Error> {
    let found = if lines.is_empty() {
        0
    } else {
        lines.iter().filter(|it| **it == b'\n').count() as u64 + 1
    };
    if first + found == last + 1 {
        return Ok(());
    }
    let what = format!("the row of the records {first} to {last} has {found} lines");
    Err(damaged(session, first, &what))
}

/// The error for a row that is missing or damaged.
pub(crate) fn damaged(session: Uuid, seq: u64, what: &str) -> Error {
    Error::Damaged {
        session: Some(session),
        seq: Some(seq),
        what: what.to_owned(),
    }
}

/// The lines of an append, which share its memory.
pub(crate) fn divided(lines: &[u8]) -> Vec<Line> {
    divided_part(lines, 0, usize::MAX)
}

/// Some lines of an append, which share their memory.
fn divided_part(lines: &[u8], skipped: u64, limit: usize) -> Vec<Line> {
    let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
    let lines = lines.split(|byte| *byte == b'\n');
    // Collected, since the iterator is passed more than once.
    let lines: Vec<&[u8]> = lines.skip(skipped).take(limit).collect();
    Line::together(lines.iter().copied())
}

fn item(row: &Row) -> OpenItem {
    OpenItem {
        session: row.get(0),
        item: unsigned(row.get(1)),
        kind: row.get(2),
        since_us: row.get(3),
        deadline_us: row.get(4),
        request: row.get(5),
        flags: u32::try_from(row.get::<_, i64>(6)).unwrap_or(0),
    }
}

fn named_head(row: &Row) -> Result<(Uuid, Head), Error> {
    let head = Head {
        seq: unsigned(row.get(1)),
        hash: hash(row.get(2))?,
        at_us: row.get(3),
    };
    Ok((row.get(0), head))
}

/// The place behind which items are listed. No stream has an item below 0.
fn place(after: Option<(Uuid, u64)>) -> (Uuid, i64) {
    after.map_or((Uuid::nil(), -1), |(session, item)| (session, signed(item)))
}

fn count(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
