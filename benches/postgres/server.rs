//! The server of the bench: its CPU time, its write-ahead log, its sizes.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use recount_postgres::Address;
use tokio_postgres::{Client, NoTls};
use uuid::Uuid;

/// The variable with the address of the server, which `.ci/postgres` sets.
const SERVER: &str = "RECOUNT_TEST_POSTGRES";
/// The ticks of a second of CPU time, as Linux reports them to programs.
const TICKS_A_SECOND: f64 = 100.0;

/// A server on this machine, and a connection to look at it.
pub(crate) struct Server {
    address: String,
    client: Client,
    runtime: tokio::runtime::Runtime,
    postmaster: u64,
}

impl Server {
    /// Connects to the server, if there is one.
    pub(crate) fn find() -> Option<Server> {
        let address = std::env::var(SERVER).ok()?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let client = runtime.block_on(connect(&address));
        let backend = runtime
            .block_on(client.query_one("SELECT pg_backend_pid()", &[]))
            .expect("the process of the connection");
        let backend = u64::try_from(backend.get::<_, i32>(0)).expect("a process id");
        let (postmaster, _) = process(backend).expect("a server on this machine");
        Some(Server {
            address,
            client,
            runtime,
            postmaster,
        })
    }

    /// Opens a connection on the runtime of the caller.
    pub(crate) async fn connect(&self) -> Client {
        connect(&self.address).await
    }

    /// Returns the address of a journal in a schema.
    pub(crate) fn journal(&self, schema: &str) -> Address {
        let separator = if self.address.contains('?') { '&' } else { '?' };
        let address = format!("{}{separator}schema={schema}", self.address);
        address.parse().expect("an address")
    }

    /// Runs statements.
    pub(crate) fn execute(&self, statements: &str) {
        let executed = self.runtime.block_on(self.client.batch_execute(statements));
        executed.expect("statements");
    }

    /// Returns the only value of a query, as text.
    pub(crate) fn text(&self, select: &str) -> String {
        let select = format!("SELECT ({select})::text");
        let row = self.runtime.block_on(self.client.query_one(&select, &[]));
        row.expect("a row").get(0)
    }

    /// Returns the only value of a query, as a number.
    pub(crate) fn number(&self, select: &str) -> f64 {
        self.text(select).parse().expect("a number")
    }

    /// The directory of the server's data.
    pub(crate) fn data(&self) -> PathBuf {
        PathBuf::from(self.text("current_setting('data_directory')"))
    }

    /// One line about version and settings.
    pub(crate) fn describe(&self) -> String {
        let settings = [
            "server_version",
            "fsync",
            "synchronous_commit",
            "wal_sync_method",
            "shared_buffers",
            "max_wal_size",
        ];
        let of = |name: &&str| {
            let value = self.text(&format!("current_setting('{name}')"));
            format!("{name} {value}")
        };
        let described: Vec<String> = settings.iter().map(of).collect();
        described.join(", ")
    }

    /// The CPU time of all processes of the server so far.
    pub(crate) fn processor_time(&self) -> Duration {
        let entries = fs::read_dir("/proc").expect("Linux tells of processes");
        let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let (mut ticks, mut ended) = (0.0, 0.0);
        for id in ids {
            match process(id) {
                Some((_, times)) if id == self.postmaster => {
                    ticks += times.own;
                    ended = times.of_ended;
                }
                Some((parent, times)) if parent == self.postmaster => ticks += times.own,
                Some(_) | None => {}
            }
        }
        Duration::from_secs_f64((ticks + ended) / TICKS_A_SECOND)
    }

    /// The length of the write-ahead log so far, in bytes.
    pub(crate) fn wal(&self) -> f64 {
        self.number("pg_current_wal_insert_lsn() - '0/0'")
    }
}

/// CPU time in ticks.
struct Times {
    own: f64,
    /// That of the children that have ended.
    of_ended: f64,
}

/// The parent of a process, and its CPU time.
fn process(id: u64) -> Option<(u64, Times)> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (_, behind) = stat.rsplit_once(") ")?;
    let words: Vec<&str> = behind.split_whitespace().collect();
    let ticks = |place: usize| words.get(place)?.parse::<f64>().ok();
    let times = Times {
        own: ticks(11)? + ticks(12)?,
        of_ended: ticks(13)? + ticks(14)?,
    };
    Some((words.get(1)?.parse().ok()?, times))
}

async fn connect(address: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(address, NoTls)
        .await
        .expect("a connection to the server");
    tokio::spawn(connection);
    client
}

/// A schema that is dropped at the end.
pub(crate) struct Schema<'s> {
    server: &'s Server,
    pub(crate) name: String,
}

impl<'s> Schema<'s> {
    /// Names a schema that does not exist yet.
    pub(crate) fn new(server: &'s Server) -> Self {
        let name = format!("bench_{}", Uuid::new_v4().simple());
        Self { server, name }
    }

    /// The address of a journal in it.
    pub(crate) fn address(&self) -> Address {
        self.server.journal(&self.name)
    }

    /// The bytes of the lines and the objects of its journal.
    pub(crate) fn bytes(&self) -> f64 {
        let schema = &self.name;
        self.server.number(&format!(
            "SELECT (SELECT COALESCE(sum(octet_length(lines)), 0) FROM {schema}.append)
                 + (SELECT COALESCE(sum(octet_length(content)), 0) FROM {schema}.object)"
        ))
    }

    /// The number of its records.
    pub(crate) fn records(&self) -> f64 {
        let schema = &self.name;
        self.server
            .number(&format!("SELECT sum(seq) FROM {schema}.head"))
    }

    /// The disk space of its tables and indexes, in bytes.
    pub(crate) fn disk(&self) -> f64 {
        let schema = &self.name;
        self.server.number(&format!(
            "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c
             WHERE c.relnamespace = '{schema}'::regnamespace AND c.relkind = 'r'"
        ))
    }
}

impl Drop for Schema<'_> {
    fn drop(&mut self) {
        let name = &self.name;
        self.server
            .execute(&format!("DROP SCHEMA IF EXISTS {name} CASCADE"));
    }
}
