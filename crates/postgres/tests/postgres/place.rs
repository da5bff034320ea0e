//! A schema of its own for each test.

use std::sync::Arc;
use std::time::Duration;

use recount_postgres::{Address, Options, PostgresJournal};
use tokio_postgres::{Client, NoTls};
use uuid::Uuid;

/// The way back from each version of the tables to the one before, from version 2 on.
const TAKEN_BACK: [&str; 4] = [
    "DROP INDEX head_owned; CREATE INDEX work_flagged ON work (session) WHERE flags <> 0",
    "ALTER TABLE node DROP COLUMN applied",
    "DROP TABLE opening",
    "ALTER TABLE node DROP COLUMN owned; DROP TABLE key_store",
];

/// A schema that is dropped at the end.
pub(crate) struct Place {
    server: String,
    schema: String,
}

impl Place {
    /// The place of a new journal in the server that `RECOUNT_TEST_POSTGRES` names.
    pub(crate) fn new() -> Place {
        let server = std::env::var("RECOUNT_TEST_POSTGRES");
        Place {
            server: server.unwrap_or_else(|_| panic!("run this test with .ci/postgres")),
            schema: format!("test_{}", Uuid::new_v4().simple()),
        }
    }

    /// The address of the journal.
    pub(crate) fn address(&self) -> Address {
        self.address_with(&self.server, "")
    }

    /// The address with more parameters, such as `&options=-cfsync%3Doff`.
    pub(crate) fn address_with(&self, server: &str, more: &str) -> Address {
        let separator = if server.contains('?') { '&' } else { '?' };
        let address = format!("{server}{separator}schema={}{more}", self.schema);
        address.parse().unwrap()
    }

    /// The host and the port of the server.
    pub(crate) fn server(&self) -> &str {
        let place = self.server.split_once('@').unwrap().1;
        place.split_once('/').unwrap().0
    }

    /// The settings of a node. The lease is long: a slow machine must not lose it.
    pub(crate) fn options(&self, address: Address, name: &str) -> Options {
        let options = PostgresJournal::options(address).node(name);
        options.lease(Duration::from_secs(60))
    }

    /// Opens the journal as a node.
    pub(crate) fn node(&self, name: &str) -> Arc<PostgresJournal> {
        Arc::new(self.options(self.address(), name).open().unwrap())
    }

    /// The schema.
    pub(crate) fn schema(&self) -> &str {
        &self.schema
    }

    /// The name of a role for this schema.
    pub(crate) fn role(&self) -> String {
        self.schema.replacen("test", "reader", 1)
    }

    /// The address of the journal for a role.
    pub(crate) fn address_of(&self, role: &str) -> Address {
        let place = self.server.split_once('@').unwrap().1;
        self.address_with(&format!("postgres://{role}@{place}"), "")
    }

    /// The address of the journal at a proxy.
    pub(crate) fn address_at(&self, port: u16) -> Address {
        let proxy = format!("127.0.0.1:{port}");
        self.address_with(&self.server.replace(self.server(), &proxy), "")
    }

    /// Opens the journal to read it.
    pub(crate) fn reader(&self) -> PostgresJournal {
        let options = PostgresJournal::options(self.address());
        options.read_only().open().unwrap()
    }

    /// Opens a connection to the schema.
    pub(crate) async fn client(&self) -> Client {
        let (client, connection) = tokio_postgres::connect(&self.server, NoTls).await.unwrap();
        tokio::spawn(connection);
        let path = format!("SET search_path = \"{}\"", self.schema);
        client.batch_execute(&path).await.unwrap();
        client
    }

    /// Waits until this many statements of the journal wait for a lock.
    pub(crate) async fn blocked(&self, statements: i64) {
        let client = self.client().await;
        let count = "SELECT count(*) FROM pg_stat_activity
             WHERE wait_event_type = 'Lock' AND position($1 IN query) > 0";
        loop {
            let row = client.query_one(count, &[&self.schema]).await.unwrap();
            if row.get::<_, i64>(0) == statements {
                return;
            }
        }
    }

    /// Runs a statement in the schema.
    pub(crate) async fn execute(&self, statement: &str) -> u64 {
        let client = self.client().await;
        client.execute(statement, &[]).await.unwrap()
    }

    /// Makes the tables those of an earlier version.
    pub(crate) async fn take_back(&self, version: usize) {
        let client = self.client().await;
        for later in TAKEN_BACK.iter().skip(version - 1).rev() {
            client.batch_execute(later).await.unwrap();
        }
        let noted = format!("UPDATE format SET version = {version}");
        client.batch_execute(&noted).await.unwrap();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let (server, schema) = (self.server.clone(), self.schema.clone());
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime.unwrap().block_on(async move {
                let (client, connection) = tokio_postgres::connect(&server, NoTls).await?;
                tokio::spawn(connection);
                client
                    .batch_execute(&format!("DROP SCHEMA IF EXISTS \"{schema}\" CASCADE"))
                    .await
            })
        });
        // What is left is dropped with the server.
        let _ = dropped.join();
    }
}
