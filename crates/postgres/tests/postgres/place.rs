//! A schema of its own for each test.

use std::sync::Arc;
use std::time::Duration;

use recount_postgres::{Address, PostgresJournal};
use tokio_postgres::NoTls;
use uuid::Uuid;

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
            server: server.expect("run this test with .ci/postgres"),
            schema: format!("test_{}", Uuid::new_v4().simple()),
        }
    }

    /// The address of the journal.
    pub(crate) fn address(&self) -> Address {
        let separator = if self.server.contains('?') { '&' } else { '?' };
        let address = format!("{}{separator}schema={}", self.server, self.schema);
        address.parse().unwrap()
    }

    /// Opens the journal as a node. The lease is long: a slow machine must not lose it.
    pub(crate) fn node(&self, name: &str) -> Arc<PostgresJournal> {
        let options = PostgresJournal::options(self.address()).node(name);
        Arc::new(options.lease(Duration::from_secs(60)).open().unwrap())
    }

    /// Runs a statement in the schema.
    pub(crate) async fn execute(&self, statement: &str) -> u64 {
        let (client, connection) = tokio_postgres::connect(&self.server, NoTls).await.unwrap();
        tokio::spawn(connection);
        let path = format!("SET search_path = \"{}\"", self.schema);
        client.batch_execute(&path).await.unwrap();
        client.execute(statement, &[]).await.unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let (server, schema) = (self.server.clone(), self.schema.clone());
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async move {
                let (client, connection) = tokio_postgres::connect(&server, NoTls).await?;
                tokio::spawn(connection);
                client.batch_execute(&format!("DROP SCHEMA IF EXISTS \"{schema}\" CASCADE")).await
            })
        });
        // What is left is dropped with the server.
        let _ = dropped.join();
    }
}
