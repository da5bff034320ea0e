//! Schemas of a PostgreSQL database, each with a journal.
//!
//! `RECOUNT_TEST_STORE=postgres` puts the journals of tests there. `RECOUNT_TEST_POSTGRES` is the
//! address of the server, which `.ci/postgres` sets.

use std::sync::Arc;
use std::time::Duration;

use recount_postgres::{Address, PostgresJournal};
use tokio_postgres::{Client, NoTls};

/// Longer than any test, so that no slow machine loses a lease.
const LEASE: Duration = Duration::from_secs(600);

/// True if the journals of tests are in the database.
pub(crate) fn is_chosen() -> bool {
    match std::env::var("RECOUNT_TEST_STORE") {
        Ok(store) if store == "postgres" => true,
        Ok(store) => panic!("RECOUNT_TEST_STORE is {store:?} instead of \"postgres\""),
        Err(_) => false,
    }
}

/// The schema of one journal.
pub(crate) struct Schema {
    pub(crate) name: String,
}

impl Schema {
    /// A new schema. Its first use makes its tables. It ends with the server.
    pub(crate) fn new() -> Schema {
        let name = format!("test_{}", uuid::Uuid::new_v4().simple());
        Schema { name }
    }

    /// Opens the journal as a new process. The leases of all others end: the test knows that those
    /// are gone.
    pub(crate) fn open(&self) -> Arc<PostgresJournal> {
        self.execute(&format!(
            "DO $$ BEGIN
                 IF to_regclass('\"{0}\".node') IS NOT NULL THEN
                     UPDATE \"{0}\".node SET until = clock_timestamp()
                     WHERE until > clock_timestamp();
                 END IF;
             END $$",
            self.name
        ));
        let server = server();
        let separator = if server.contains('?') { '&' } else { '?' };
        let address = format!("{server}{separator}schema={}", self.name);
        let address: Address = address.parse().unwrap();
        let options = PostgresJournal::options(address).node("test").lease(LEASE);
        Arc::new(options.open().unwrap())
    }

    /// Runs statements. The caller may be in a runtime.
    pub(crate) fn execute(&self, statements: &str) {
        let run = || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime.unwrap().block_on(async {
                connect().await.batch_execute(statements).await.unwrap();
            });
        };
        std::thread::scope(|scope| scope.spawn(run).join().unwrap());
    }
}

/// Connects to the server, in a runtime that lives as long as the connection.
pub(crate) async fn connect() -> Client {
    let (client, connection) = tokio_postgres::connect(&server(), NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

fn server() -> String {
    let server = std::env::var("RECOUNT_TEST_POSTGRES");
    server.unwrap_or_else(|_| panic!("run this test with .ci/postgres"))
}
