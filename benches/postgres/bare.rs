//! The baselines in the same server: commits of the same lines without heads, open work, owners and
//! order.

use futures_util::future::join_all;
use recount::journal::{Append, Line};
use tokio::runtime::Runtime;
use tokio_postgres::{Client, Statement};
use uuid::Uuid;

use crate::batch::Stream;
use crate::cost::{Cost, measured};
use crate::server::{Schema, Server};

/// A table with one row an append.
pub(crate) struct Bare {
    schema: String,
}

/// A connection that inserts.
pub(crate) struct Inserting {
    client: Client,
    one: Statement,
    many: Statement,
}

impl Bare {
    pub(crate) fn new(server: &Server, schema: &Schema<'_>) -> Bare {
        let schema = schema.name.clone();
        server.execute(&format!(
            "CREATE SCHEMA IF NOT EXISTS {schema};
             CREATE TABLE {schema}.bare (session uuid NOT NULL, first bigint NOT NULL,
                 lines bytea NOT NULL, PRIMARY KEY (session, first))"
        ));
        Bare { schema }
    }

    pub(crate) async fn connect(&self, server: &Server) -> Inserting {
        let client = server.connect().await;
        let table = format!("INSERT INTO {}.bare (session, first, lines)", self.schema);
        let one = client
            .prepare(&format!("{table} VALUES ($1, $2, $3)"))
            .await;
        let many = format!("{table} SELECT * FROM unnest($1::uuid[], $2::int8[], $3::bytea[])");
        let many = client.prepare(&many).await;
        Inserting {
            one: one.expect("a statement"),
            many: many.expect("a statement"),
            client,
        }
    }

    /// Runs so many connections at once, each with so many transactions of so many rows, and
    /// measures them.
    pub(crate) fn run(
        &self,
        (server, runtime): (&Server, &Runtime),
        (connections, transactions, rows): (usize, usize, usize),
    ) -> Cost {
        let mut inserting = Vec::new();
        for number in 0..connections {
            // Other sessions than those of the run before.
            let first = 1_000_000 + u64::from(Uuid::new_v4().as_fields().0) + number as u64;
            let mut streams: Vec<Stream> = (0..rows as u64)
                .map(|row| Stream::new(first + row * connections as u64))
                .collect();
            let next = |_| Columns::of(streams.iter_mut().map(Stream::next_append));
            let plan: Vec<Columns> = (0..transactions).map(next).collect();
            inserting.push((runtime.block_on(self.connect(server)), plan));
        }
        measured(server, connections * transactions * rows, || {
            let runs = inserting.into_iter().map(|(connection, plan)| {
                runtime.spawn(async move {
                    for columns in &plan {
                        connection.insert(columns).await;
                    }
                    plan
                })
            });
            let runs: Vec<_> = runs.collect();
            runtime.block_on(join_all(runs))
        })
    }
}

/// The rows of one transaction, by column.
#[derive(Default)]
pub(crate) struct Columns {
    sessions: Vec<Uuid>,
    firsts: Vec<i64>,
    lines: Vec<Vec<u8>>,
}

impl Columns {
    /// The rows of some appends.
    pub(crate) fn of(appends: impl Iterator<Item = Append>) -> Columns {
        let mut columns = Columns::default();
        for append in appends {
            let lines: Vec<&[u8]> = append.lines.iter().map(Line::bytes).collect();
            columns.sessions.push(append.session);
            columns.firsts.push(append.expected as i64 + 1);
            columns.lines.push(lines.join(&b'\n'));
        }
        columns
    }
}

impl Inserting {
    /// Inserts rows in one transaction.
    pub(crate) async fn insert(&self, columns: &Columns) {
        let Columns {
            sessions,
            firsts,
            lines,
        } = columns;
        let client = &self.client;
        let inserted = match (sessions.as_slice(), firsts.as_slice(), lines.as_slice()) {
            ([session], [first], [lines]) => {
                client.execute(&self.one, &[session, first, lines]).await
            }
            (..) => client.execute(&self.many, &[sessions, firsts, lines]).await,
        };
        inserted.expect("an insert");
    }
}
