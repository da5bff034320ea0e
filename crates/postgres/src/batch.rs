//! One transaction with the appends of many streams, as one statement.

use std::collections::{BTreeMap, HashSet};

use recount_journal::{Line, Object, OpenItem, WorkChange};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Statement};
use uuid::Uuid;

use crate::claims::{FREE, signed};
use crate::queue::Job;

/// The statements of a connection. What an append brings besides its lines costs nothing where no
/// append of a batch has it.
pub(crate) struct Statements {
    lines: Statement,
    whole: Statement,
}

impl Statements {
    /// Prepares a connection: the plans never depend on statistics, which lag behind a growing
    /// table.
    pub(crate) async fn prepare(
        client: &Client,
        schema: &str,
        channel: &str,
    ) -> Result<Self, tokio_postgres::Error> {
        let settings = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off;
             SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off";
        client.batch_execute(settings).await?;
        let (lines, whole) = (
            appending(schema, channel, ""),
            appending(schema, channel, REST),
        );
        let (arrays, rest) = (TYPES, REST_TYPES);
        let all: Vec<Type> = arrays.iter().chain(&rest).cloned().collect();
        Ok(Self {
            lines: client.prepare_typed(&lines, &arrays).await?,
            whole: client.prepare_typed(&whole, &all).await?,
        })
    }
}

/// The parameters `$1` to `$10`: a column for each part of an append, and the node.
const TYPES: [Type; 10] = [
    Type::UUID_ARRAY,
    Type::INT8_ARRAY,
    Type::BYTEA_ARRAY,
    Type::INT8_ARRAY,
    Type::INT8_ARRAY,
    Type::INT8_ARRAY,
    Type::BYTEA_ARRAY,
    Type::INT8_ARRAY,
    Type::BYTEA_ARRAY,
    Type::UUID,
];

/// The parameters of [`REST`], from `$11` on.
const REST_TYPES: [Type; 14] = [
    Type::UUID_ARRAY,
    Type::BYTEA_ARRAY,
    Type::BYTEA_ARRAY,
    Type::UUID_ARRAY,
    Type::INT8_ARRAY,
    Type::TEXT_ARRAY,
    Type::INT8_ARRAY,
    Type::INT8_ARRAY,
    Type::UUID_ARRAY,
    Type::INT8_ARRAY,
    Type::BOOL_ARRAY,
    Type::UUID_ARRAY,
    Type::UUID_ARRAY,
    Type::INT8_ARRAY,
];

/// The statement of a batch. It returns the streams whose append was refused.
///
/// The heads are locked in the order of their ids, so that two batches never wait for each other.
/// The number of the batch is drawn while they are locked: of two batches with a common stream, the
/// later one has the higher number.
fn appending(schema: &str, channel: &str, rest: &str) -> String {
    let statement = "
WITH asked AS MATERIALIZED (
    SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9)
        AS a(session, expected, prev, from_us, epoch, last, hash, at_us, lines)
), locked AS MATERIALIZED (
    SELECT h.session, h.seq, h.hash, h.at_us, h.owner, h.epoch
    FROM {schema}.head h WHERE h.session = ANY ($1) ORDER BY h.session FOR NO KEY UPDATE
), moved AS (
    UPDATE {schema}.head h SET seq = a.last, hash = a.hash, at_us = a.at_us
    FROM asked a JOIN locked l ON l.session = a.session
    WHERE h.session = a.session AND l.seq = a.expected AND l.hash = a.prev
        AND l.at_us <= a.from_us AND ((l.owner = $10 AND l.epoch = a.epoch)
            OR l.session = '00000000-0000-0000-0000-000000000000')
    RETURNING h.session
), begun AS (
    INSERT INTO {schema}.head (session, seq, hash, at_us, owner, epoch)
    SELECT a.session, a.last, a.hash, a.at_us,
        CASE WHEN a.session = '00000000-0000-0000-0000-000000000000' THEN NULL ELSE $10 END, 1
    FROM asked a WHERE a.expected = 0 AND a.epoch IS NULL
        AND a.prev = '\\x0000000000000000000000000000000000000000000000000000000000000000'
        AND NOT EXISTS (SELECT FROM locked l WHERE l.session = a.session)
    ORDER BY a.session
    ON CONFLICT (session) DO NOTHING
    RETURNING session
), admitted AS MATERIALIZED (
    SELECT session FROM moved UNION ALL SELECT session FROM begun
), put AS (
    INSERT INTO {schema}.append (session, first, last, lines)
    SELECT a.session, a.expected + 1, a.last, a.lines
    FROM asked a JOIN admitted d ON d.session = a.session
    ON CONFLICT (session, first) DO NOTHING
    RETURNING session, first
), numbered AS (
    INSERT INTO {schema}.batch (id, sessions, firsts)
    SELECT nextval('{schema}.batch_id'), p.sessions, p.firsts
    FROM (SELECT array_agg(session) AS sessions, array_agg(first) AS firsts FROM put) p
    WHERE p.sessions IS NOT NULL
    RETURNING pg_notify('{channel}', CASE WHEN '00000000-0000-0000-0000-000000000000'
        = ANY (sessions) THEN '{FREE}' ELSE '' END)
){rest}
SELECT a.session FROM asked a
WHERE a.session NOT IN (SELECT session FROM admitted)
    AND (SELECT count(*) FROM numbered) >= 0";
    statement
        .replace("{rest}", rest)
        .replace("{FREE}", FREE)
        .replace("{schema}", schema)
        .replace("{channel}", channel)
}

/// The objects, open items and request ids of a batch. `$21` is true for an item that is put, and
/// false for one that is removed.
const REST: &str = ", stored AS (
    INSERT INTO {schema}.object (hash, content)
    SELECT DISTINCT ON (o.hash) o.hash, o.content
    FROM unnest($11, $12, $13) AS o(session, hash, content)
        JOIN admitted d ON d.session = o.session
    ORDER BY o.hash
    ON CONFLICT (hash) DO NOTHING
), items AS MATERIALIZED (
    SELECT i.* FROM unnest($14, $15, $16, $17, $18, $19, $20, $21)
        AS i(session, item, kind, since_us, deadline_us, request, flags, is_put)
        JOIN admitted d ON d.session = i.session
), removed AS (
    DELETE FROM {schema}.work w USING items i
    WHERE NOT i.is_put AND w.session = i.session AND w.item = i.item
), opened AS (
    INSERT INTO {schema}.work (session, item, kind, since_us, deadline_us, request, flags)
    SELECT session, item, kind, since_us, deadline_us, request, flags FROM items WHERE is_put
    ON CONFLICT (session, item) DO UPDATE SET kind = excluded.kind,
        since_us = excluded.since_us, deadline_us = excluded.deadline_us,
        request = excluded.request, flags = excluded.flags
), requested AS (
    INSERT INTO {schema}.request (request, session, item)
    SELECT r.request, r.session, r.item
    FROM unnest($22, $23, $24) AS r(session, request, item)
        JOIN admitted d ON d.session = r.session
    ORDER BY r.request
    ON CONFLICT (request) DO UPDATE SET session = excluded.session, item = excluded.item
)";

/// The columns of a batch, without its lines.
#[derive(Default)]
struct Columns<'b> {
    sessions: Vec<Uuid>,
    expected: Vec<i64>,
    prev: Vec<&'b [u8]>,
    from_us: Vec<i64>,
    epochs: Vec<Option<i64>>,
    last: Vec<i64>,
    hashes: Vec<&'b [u8]>,
    at_us: Vec<i64>,
}

#[derive(Default)]
struct Objects<'b> {
    sessions: Vec<Uuid>,
    hashes: Vec<&'b [u8]>,
    contents: Vec<&'b [u8]>,
}

#[derive(Default)]
struct Items<'b> {
    sessions: Vec<Uuid>,
    items: Vec<i64>,
    kinds: Vec<&'b str>,
    since_us: Vec<i64>,
    deadlines: Vec<Option<i64>>,
    requests: Vec<Option<Uuid>>,
    flags: Vec<i64>,
    is_put: Vec<bool>,
}

#[derive(Default)]
struct Requests {
    sessions: Vec<Uuid>,
    requests: Vec<Uuid>,
    items: Vec<i64>,
}

/// Commits a batch, and returns the streams whose append was refused.
pub(crate) async fn commit(
    client: &Client,
    statements: &Statements,
    node: Uuid,
    jobs: &[Job],
) -> Result<HashSet<Uuid>, tokio_postgres::Error> {
    let lines: Vec<Vec<u8>> = jobs.iter().map(|job| joined(&job.append.lines)).collect();
    let lines: Vec<&[u8]> = lines.iter().map(Vec::as_slice).collect();
    let mut columns = Columns::default();
    let (mut objects, mut items, mut requests) =
        (Objects::default(), Items::default(), Requests::default());
    for job in jobs {
        columns.add(job);
        for object in &job.append.objects {
            objects.add(job.append.session, object);
        }
        items.add_changes(&job.append.open_work);
        requests.add_of(&job.append.open_work);
    }
    let of_lines: [&(dyn ToSql + Sync); 10] = [
        &columns.sessions,
        &columns.expected,
        &columns.prev,
        &columns.from_us,
        &columns.epochs,
        &columns.last,
        &columns.hashes,
        &columns.at_us,
        &lines,
        &node,
    ];
    let rows = if objects.hashes.is_empty() && items.items.is_empty() {
        client.query(&statements.lines, &of_lines).await?
    } else {
        let rest: [&(dyn ToSql + Sync); 14] = [
            &objects.sessions,
            &objects.hashes,
            &objects.contents,
            &items.sessions,
            &items.items,
            &items.kinds,
            &items.since_us,
            &items.deadlines,
            &items.requests,
            &items.flags,
            &items.is_put,
            &requests.sessions,
            &requests.requests,
            &requests.items,
        ];
        let all: Vec<_> = of_lines.into_iter().chain(rest).collect();
        client.query(&statements.whole, &all).await?
    };
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// The lines of an append as they are stored. A line has no line feed, so they can be divided.
pub(crate) fn joined(lines: &[Line]) -> Vec<u8> {
    let size = lines.iter().map(|line| line.bytes().len() + 1).sum();
    let mut joined = Vec::with_capacity(size);
    for line in lines {
        if !joined.is_empty() {
            joined.push(b'\n');
        }
        joined.extend_from_slice(line.bytes());
    }
    joined
}

impl<'b> Columns<'b> {
    fn add(&mut self, job: &'b Job) {
        let admission = &job.admission;
        self.sessions.push(job.append.session);
        self.expected.push(signed(job.append.expected));
        self.prev.push(admission.prev.as_bytes());
        self.from_us.push(admission.at_us);
        self.epochs.push(job.epoch);
        self.last.push(signed(admission.head.seq));
        self.hashes.push(admission.head.hash.as_bytes());
        self.at_us.push(admission.head.at_us);
    }
}

impl<'b> Objects<'b> {
    fn add(&mut self, session: Uuid, object: &'b Object) {
        self.sessions.push(session);
        self.hashes.push(object.hash.as_bytes());
        self.contents.push(&object.bytes);
    }
}

impl<'b> Items<'b> {
    /// Adds the last change of each item.
    fn add_changes(&mut self, changes: &'b [WorkChange]) {
        let mut last = BTreeMap::new();
        for change in changes {
            match change {
                WorkChange::Put(item) => last.insert((item.session, item.item), Some(item)),
                WorkChange::Remove { session, item } => last.insert((*session, *item), None),
            };
        }
        for ((session, name), item) in last {
            self.sessions.push(session);
            self.items.push(signed(name));
            self.kinds.push(item.map_or("", |it| &it.kind));
            self.since_us.push(item.map_or(0, |it| it.since_us));
            self.deadlines.push(item.and_then(|it| it.deadline_us));
            self.requests.push(item.and_then(|it| it.request));
            self.flags.push(item.map_or(0, |it| i64::from(it.flags)));
            self.is_put.push(item.is_some());
        }
    }
}

impl Requests {
    /// Adds the request ids of an append, also of items that it removes again.
    fn add_of(&mut self, changes: &[WorkChange]) {
        let mut last = BTreeMap::new();
        for change in changes {
            if let WorkChange::Put(OpenItem {
                session,
                item,
                request: Some(request),
                ..
            }) = change
            {
                last.insert(*request, (*session, *item));
            }
        }
        for (request, (session, item)) in last {
            self.requests.push(request);
            self.sessions.push(session);
            self.items.push(signed(item));
        }
    }
}
