//! One transaction with the appends of many streams, as one statement.

use std::collections::{BTreeMap, HashSet};

use recount_journal::{CarriedOut, Hash, Line, Object, OpenItem, WorkChange};
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::claims::signed;
use crate::queue::Job;
use crate::statements::{Shape, Statements};

/// The parameters of a statement.
type Parameters<'p> = Vec<&'p (dyn ToSql + Sync)>;

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

/// The parts of appends besides their lines.
#[derive(Default)]
struct Changes<'b> {
    objects: Objects<'b>,
    removed: Removed,
    items: Items<'b>,
    requests: Requests,
    carried_out: Carried,
}

#[derive(Default)]
struct Objects<'b> {
    of: Vec<Uuid>,
    hashes: Vec<&'b [u8]>,
    contents: Vec<&'b [u8]>,
}

#[derive(Default)]
struct Removed {
    of: Vec<Uuid>,
    sessions: Vec<Uuid>,
    items: Vec<i64>,
}

#[derive(Default)]
struct Items<'b> {
    of: Vec<Uuid>,
    sessions: Vec<Uuid>,
    items: Vec<i64>,
    kinds: Vec<&'b str>,
    since_us: Vec<i64>,
    deadlines: Vec<Option<i64>>,
    requests: Vec<Option<Uuid>>,
    flags: Vec<i64>,
}

#[derive(Default)]
struct Requests {
    of: Vec<Uuid>,
    requests: Vec<Uuid>,
    sessions: Vec<Uuid>,
    items: Vec<i64>,
}

#[derive(Default)]
struct Carried {
    of: Vec<Uuid>,
    requests: Vec<Uuid>,
    at: Vec<i64>,
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
    let (mut columns, mut changes) = (Columns::default(), Changes::default());
    for job in jobs {
        columns.add(job);
        changes.add(job);
    }
    let shape = Shape {
        is_single: jobs.len() == 1,
        begins: jobs.iter().any(begins),
        has_objects: !changes.objects.of.is_empty(),
        removes_items: !changes.removed.of.is_empty(),
        puts_items: !changes.items.of.is_empty(),
        has_requests: !changes.requests.of.is_empty(),
        carries_out: !changes.carried_out.of.is_empty(),
    };
    let statement = statements.of(client, shape).await?;
    let mut parameters = columns.parameters(shape.is_single);
    parameters.push(column(&lines, shape.is_single));
    parameters.push(&node);
    changes.add_parameters(&mut parameters);
    let rows = client.query(&statement, &parameters).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// True if an append makes its stream. Its first owner is its node.
fn begins(job: &Job) -> bool {
    job.append.expected == 0 && job.epoch.is_none() && job.admission.prev == Hash::ZERO
}

/// A column as a parameter: its only value, or the whole column.
fn column<T>(values: &Vec<T>, is_single: bool) -> &(dyn ToSql + Sync)
where
    T: ToSql + Sync,
{
    match values.first() {
        Some(only) if is_single => only,
        Some(_) | None => values,
    }
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

    fn parameters(&self, is_single: bool) -> Parameters<'_> {
        vec![
            column(&self.sessions, is_single),
            column(&self.expected, is_single),
            column(&self.prev, is_single),
            column(&self.from_us, is_single),
            column(&self.epochs, is_single),
            column(&self.last, is_single),
            column(&self.hashes, is_single),
            column(&self.at_us, is_single),
        ]
    }
}

impl<'b> Changes<'b> {
    fn add(&mut self, job: &'b Job) {
        let session = job.append.session;
        for object in &job.append.objects {
            self.objects.add(session, object);
        }
        self.add_items(session, &job.append.open_work);
        self.requests.add_of(session, &job.append.open_work);
        if let Some(CarriedOut { request, at }) = job.append.carries_out {
            self.carried_out.of.push(session);
            self.carried_out.requests.push(request);
            self.carried_out.at.push(signed(at));
        }
    }

    /// Adds the last change of each item.
    fn add_items(&mut self, of: Uuid, changes: &'b [WorkChange]) {
        let mut last = BTreeMap::new();
        for change in changes {
            match change {
                WorkChange::Put(item) => last.insert((item.session, item.item), Some(item)),
                WorkChange::Remove { session, item } => last.insert((*session, *item), None),
            };
        }
        for ((session, name), item) in last {
            match item {
                Some(item) => self.items.add(of, item),
                None => self.removed.add(of, (session, name)),
            }
        }
    }

    /// Adds the parameters of the parts that the statement has.
    fn add_parameters<'p>(&'p self, parameters: &mut Parameters<'p>) {
        let Self {
            objects,
            removed,
            items,
            requests,
            carried_out,
        } = self;
        if !objects.of.is_empty() {
            parameters.push(&objects.of);
            parameters.push(&objects.hashes);
            parameters.push(&objects.contents);
        }
        if !removed.of.is_empty() {
            parameters.push(&removed.of);
            parameters.push(&removed.sessions);
            parameters.push(&removed.items);
        }
        if !items.of.is_empty() {
            items.add_parameters(parameters);
        }
        if !requests.of.is_empty() {
            parameters.push(&requests.of);
            parameters.push(&requests.requests);
            parameters.push(&requests.sessions);
            parameters.push(&requests.items);
        }
        if !carried_out.of.is_empty() {
            parameters.push(&carried_out.of);
            parameters.push(&carried_out.requests);
            parameters.push(&carried_out.at);
        }
    }
}

impl<'b> Objects<'b> {
    fn add(&mut self, of: Uuid, object: &'b Object) {
        self.of.push(of);
        self.hashes.push(object.hash.as_bytes());
        self.contents.push(&object.bytes);
    }
}

impl Removed {
    fn add(&mut self, of: Uuid, (session, item): (Uuid, u64)) {
        self.of.push(of);
        self.sessions.push(session);
        self.items.push(signed(item));
    }
}

impl<'b> Items<'b> {
    fn add(&mut self, of: Uuid, item: &'b OpenItem) {
        self.of.push(of);
        self.sessions.push(item.session);
        self.items.push(signed(item.item));
        self.kinds.push(&item.kind);
        self.since_us.push(item.since_us);
        self.deadlines.push(item.deadline_us);
        self.requests.push(item.request);
        self.flags.push(i64::from(item.flags));
    }

    fn add_parameters<'p>(&'p self, parameters: &mut Parameters<'p>) {
        parameters.push(&self.of);
        parameters.push(&self.sessions);
        parameters.push(&self.items);
        parameters.push(&self.kinds);
        parameters.push(&self.since_us);
        parameters.push(&self.deadlines);
        parameters.push(&self.requests);
        parameters.push(&self.flags);
    }
}

impl Requests {
    /// Adds the request ids of an append, also of items that it removes again.
    fn add_of(&mut self, of: Uuid, changes: &[WorkChange]) {
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
            self.of.push(of);
            self.requests.push(request);
            self.sessions.push(session);
            self.items.push(signed(item));
        }
    }
}
