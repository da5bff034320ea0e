//! The statement of a batch, which has parts for what the appends of the batch bring.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Statement};

use crate::server::FREE;

/// The parts of a statement. A part that a batch does not need would cost it the start of its plan,
/// about a tenth of an append alone (bench `postgres`, append, 2026-11-29).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Shape {
    /// True if the batch has one append. Its values are then parameters, without arrays.
    pub(crate) is_single: bool,
    /// True if an append begins a stream.
    pub(crate) begins: bool,
    pub(crate) has_objects: bool,
    pub(crate) removes_items: bool,
    pub(crate) puts_items: bool,
    pub(crate) has_requests: bool,
    pub(crate) carries_out: bool,
}

/// The statements of a connection, prepared when they are first used.
pub(crate) struct Statements {
    schema: String,
    channel: String,
    prepared: Mutex<HashMap<Shape, Statement>>,
}

impl Statements {
    /// Creates the statements for a connection.
    pub(crate) fn new(schema: String, channel: String) -> Self {
        Self {
            schema,
            channel,
            prepared: Mutex::default(),
        }
    }

    /// Returns the statement of a shape.
    pub(crate) async fn of(
        &self,
        client: &Client,
        shape: Shape,
    ) -> Result<Statement, tokio_postgres::Error> {
        let known = self.prepared().get(&shape).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let text = Text::of(shape, &self.schema, &self.channel);
        let statement = client.prepare_typed(&text.sql, &text.types).await?;
        self.prepared().insert(shape, statement.clone());
        Ok(statement)
    }

    fn prepared(&self) -> std::sync::MutexGuard<'_, HashMap<Shape, Statement>> {
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A statement, and the types of its parameters.
struct Text {
    sql: String,
    types: Vec<Type>,
}

impl Text {
    fn of(shape: Shape, schema: &str, channel: &str) -> Self {
        let mut text = Self {
            sql: "WITH ".to_owned(),
            types: Vec::new(),
        };
        let (lines, types, refused) = match (shape.is_single, shape.begins) {
            (true, false) => (MOVE_ONE, ONE, REFUSED_ONE),
            (true, true) => (BEGIN_ONE, ONE, REFUSED_ONE),
            (false, false) => (MOVE_MANY, MANY, REFUSED),
            (false, true) => (MOVE_OR_BEGIN_MANY, MANY, REFUSED),
        };
        let (put, numbered) = if shape.is_single {
            (PUT_ONE, NUMBER_ONE)
        } else {
            (PUT_MANY, NUMBER_MANY)
        };
        text.add(&format!("{lines}, {put}, {numbered}"), &types);
        let parts = [
            (shape.has_objects, STORE, &STORE_TYPES[..]),
            (shape.removes_items, REMOVE, &REMOVE_TYPES[..]),
            (shape.puts_items, OPEN, &OPEN_TYPES[..]),
            (shape.has_requests, REQUEST, &REQUEST_TYPES[..]),
            (shape.carries_out, CARRY_OUT, &CARRY_OUT_TYPES[..]),
        ];
        for (_, part, types) in parts.into_iter().filter(|(is_needed, ..)| *is_needed) {
            text.sql.push_str(", ");
            text.add(part, types);
        }
        text.sql.push_str(&numbered_from(refused, 0, types.len()));
        text.sql = text
            .sql
            .replace("{nil}", "'00000000-0000-0000-0000-000000000000'")
            .replace("{FREE}", FREE)
            .replace("{schema}", schema)
            .replace("{channel}", channel);
        text
    }

    /// Adds a part, whose parameters `{1}`, `{2}` and so on follow those before.
    fn add(&mut self, part: &str, types: &[Type]) {
        let part = numbered_from(part, self.types.len(), types.len());
        self.sql.push_str(&part);
        self.types.extend_from_slice(types);
    }
}

fn numbered_from(part: &str, before: usize, parameters: usize) -> String {
    let number = |part: String, n: usize| {
        let (own, number) = (format!("{{{n}}}"), format!("${}", before + n));
        part.replace(&own, &number)
    };
    (1..=parameters).fold(part.to_owned(), number)
}

/// The parameters of an append: session, expected seq, previous hash, latest time of the head,
/// epoch, last seq, hash, time, lines; and the node.
const ONE: [Type; 10] = [
    Type::UUID,
    Type::INT8,
    Type::BYTEA,
    Type::INT8,
    Type::INT8,
    Type::INT8,
    Type::BYTEA,
    Type::INT8,
    Type::BYTEA,
    Type::UUID,
];

/// The parameters of several appends: a column for each of [`ONE`], and the node.
const MANY: [Type; 10] = [
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

const MOVE_ONE: &str = "admitted AS (
    UPDATE {schema}.head SET seq = {6}, hash = {7}, at_us = {8}
    WHERE session = {1} AND seq = {2} AND hash = {3} AND at_us <= {4}
        AND ((owner IS NOT DISTINCT FROM {10} AND epoch = {5}) OR session = {nil})
    RETURNING session
)";

const BEGIN_ONE: &str = "admitted AS (
    INSERT INTO {schema}.head (session, owner, epoch, seq, at_us, hash)
    VALUES ({1}, CASE WHEN {1} = {nil} THEN NULL ELSE {10} END, 1, {6}, {8}, {7})
    ON CONFLICT (session) DO NOTHING
    RETURNING session
)";

/// The appends to streams that exist. An update locks its row and looks at the row's last version.
///
/// The heads are updated in the order of their ids, so that two batches never wait for each other:
/// the sorted side drives a nested loop, the only kind of join under the settings. A second look at
/// a row that was locked before would cost a quarter of an append's CPU time.
///
/// No index can serve `IS NOT DISTINCT FROM`. With `=`, the index of owners drives the loop: each
/// batch then reads all streams of the node, in the order of that index.
const MOVE_MANY: &str = "admitted AS (
    UPDATE {schema}.head h SET seq = a.last, hash = a.hash, at_us = a.at_us
    FROM (SELECT * FROM unnest({1}, {2}, {3}, {4}, {5}, {6}, {7}, {8})
        AS a(session, expected, prev, from_us, epoch, last, hash, at_us) ORDER BY session) a
    WHERE h.session = a.session AND h.seq = a.expected AND h.hash = a.prev
        AND h.at_us <= a.from_us AND ((h.owner IS NOT DISTINCT FROM {10}
            AND h.epoch = a.epoch) OR h.session = {nil})
    RETURNING h.session
)";

const MOVE_OR_BEGIN_MANY: &str = "moved AS (
    UPDATE {schema}.head h SET seq = a.last, hash = a.hash, at_us = a.at_us
    FROM (SELECT * FROM unnest({1}, {2}, {3}, {4}, {5}, {6}, {7}, {8})
        AS a(session, expected, prev, from_us, epoch, last, hash, at_us) ORDER BY session) a
    WHERE h.session = a.session AND h.seq = a.expected AND h.hash = a.prev
        AND h.at_us <= a.from_us AND ((h.owner IS NOT DISTINCT FROM {10}
            AND h.epoch = a.epoch) OR h.session = {nil})
    RETURNING h.session
), begun AS (
    INSERT INTO {schema}.head (session, owner, epoch, seq, at_us, hash)
    SELECT a.session, CASE WHEN a.session = {nil} THEN NULL ELSE {10} END, 1,
        a.last, a.at_us, a.hash
    FROM unnest({1}, {2}, {3}, {5}, {6}, {7}, {8})
        AS a(session, expected, prev, epoch, last, hash, at_us)
    WHERE a.expected = 0 AND a.epoch IS NULL
        AND a.prev = '\\x0000000000000000000000000000000000000000000000000000000000000000'
    ORDER BY a.session
    ON CONFLICT (session) DO NOTHING
    RETURNING session
), admitted AS MATERIALIZED (
    SELECT session FROM moved UNION ALL SELECT session FROM begun
)";

/// The rows of the appends. A row that is there already cannot be: the head says that the stream
/// ends before it. It would be an error, since to pass it over would lose the append.
const PUT_ONE: &str = "put AS (
    INSERT INTO {schema}.append (session, first, last, lines)
    SELECT session, {2} + 1, {6}, {9} FROM admitted
)";

/// `IN` as the argument of `IS TRUE` is a lookup in a hash table. Alone it would become a nested
/// loop over all pairs of the batch.
const PUT_MANY: &str = "put AS (
    INSERT INTO {schema}.append (session, first, last, lines)
    SELECT a.session, a.expected + 1, a.last, a.lines
    FROM unnest({1}, {2}, {6}, {9}) AS a(session, expected, last, lines)
    WHERE (a.session IN (SELECT session FROM admitted)) IS TRUE
    RETURNING session, first
)";

/// The number of the batch. It is drawn while the heads are locked: of two batches with a common
/// stream, the later one has the higher number.
const NUMBER_ONE: &str = "numbered AS (
    INSERT INTO {schema}.batch (id, sessions, firsts)
    SELECT nextval('{schema}.batch_id'), ARRAY[session], ARRAY[{2} + 1] FROM admitted
    RETURNING pg_notify('{channel}', CASE WHEN {1} = {nil} THEN '{FREE}' ELSE '' END)
)";

const NUMBER_MANY: &str = "numbered AS (
    INSERT INTO {schema}.batch (id, sessions, firsts)
    SELECT nextval('{schema}.batch_id'), p.sessions, p.firsts
    FROM (SELECT array_agg(session) AS sessions, array_agg(first) AS firsts FROM put) p
    WHERE p.sessions IS NOT NULL
    RETURNING pg_notify('{channel}', CASE WHEN {nil} = ANY (sessions) THEN '{FREE}' ELSE '' END)
)";

const STORE: &str = "stored AS (
    INSERT INTO {schema}.object (hash, content)
    SELECT DISTINCT ON (o.hash) o.hash, o.content
    FROM unnest({1}, {2}, {3}) AS o(session, hash, content)
    WHERE (o.session IN (SELECT session FROM admitted)) IS TRUE
    ORDER BY o.hash
    ON CONFLICT (hash) DO NOTHING
)";

const STORE_TYPES: [Type; 3] = [Type::UUID_ARRAY, Type::BYTEA_ARRAY, Type::BYTEA_ARRAY];

const REMOVE: &str = "removed AS (
    DELETE FROM {schema}.work w USING unnest({1}, {2}, {3}) AS i(of, session, item)
    WHERE w.session = i.session AND w.item = i.item
        AND (i.of IN (SELECT session FROM admitted)) IS TRUE
)";

const REMOVE_TYPES: [Type; 3] = [Type::UUID_ARRAY, Type::UUID_ARRAY, Type::INT8_ARRAY];

const OPEN: &str = "opened AS (
    INSERT INTO {schema}.work (session, item, kind, since_us, deadline_us, request, flags)
    SELECT i.session, i.item, i.kind, i.since_us, i.deadline_us, i.request, i.flags
    FROM unnest({1}, {2}, {3}, {4}, {5}, {6}, {7}, {8})
        AS i(of, session, item, kind, since_us, deadline_us, request, flags)
    WHERE (i.of IN (SELECT session FROM admitted)) IS TRUE
    ON CONFLICT (session, item) DO UPDATE SET kind = excluded.kind,
        since_us = excluded.since_us, deadline_us = excluded.deadline_us,
        request = excluded.request, flags = excluded.flags
)";

const OPEN_TYPES: [Type; 8] = [
    Type::UUID_ARRAY,
    Type::UUID_ARRAY,
    Type::INT8_ARRAY,
    Type::TEXT_ARRAY,
    Type::INT8_ARRAY,
    Type::INT8_ARRAY,
    Type::UUID_ARRAY,
    Type::INT8_ARRAY,
];

const REQUEST: &str = "requested AS (
    INSERT INTO {schema}.request (request, session, item)
    SELECT r.request, r.session, r.item
    FROM unnest({1}, {2}, {3}, {4}) AS r(of, request, session, item)
    WHERE (r.of IN (SELECT session FROM admitted)) IS TRUE
    ORDER BY r.request
    ON CONFLICT (request) DO UPDATE SET session = excluded.session, item = excluded.item
)";

const REQUEST_TYPES: [Type; 4] = [
    Type::UUID_ARRAY,
    Type::UUID_ARRAY,
    Type::UUID_ARRAY,
    Type::INT8_ARRAY,
];

/// The requests of other nodes that the appends carry out.
const CARRY_OUT: &str = "carried AS (
    UPDATE {schema}.command c SET done = d.done
    FROM unnest({1}, {2}, {3}) AS d(of, request, done)
    WHERE c.session = d.of AND c.id = d.request AND c.done IS NULL
        AND (d.of IN (SELECT session FROM admitted)) IS TRUE
)";

const CARRY_OUT_TYPES: [Type; 3] = [Type::UUID_ARRAY, Type::UUID_ARRAY, Type::INT8_ARRAY];

/// The streams whose append was refused. The condition on `numbered` makes it run first.
const REFUSED_ONE: &str = "
SELECT {1} WHERE NOT EXISTS (SELECT FROM admitted)
    AND (SELECT count(*) FROM numbered) >= 0";

const REFUSED: &str = "
SELECT s FROM unnest({1}) s WHERE s NOT IN (SELECT session FROM admitted)
    AND (SELECT count(*) FROM numbered) >= 0";
