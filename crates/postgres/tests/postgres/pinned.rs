//! Settings of a role that are made for other programs, and what a node reports of its database.

use std::sync::Arc;
use std::time::Duration;

use recount_journal::testing::Stream;
use recount_journal::{Error, Journal, causes};
use recount_postgres::{Options, PostgresJournal};
use tokio_postgres::Client;

use crate::place::Place;

/// A node of a role of its own.
struct OfRole {
    place: Place,
    role: String,
    client: Client,
}

impl OfRole {
    async fn with(settings: &[&str]) -> OfRole {
        let place = Place::new();
        let (role, client) = (place.role(), place.client().await);
        let schema = place.schema();
        let create = format!(
            "CREATE ROLE {role} LOGIN; CREATE SCHEMA {schema} AUTHORIZATION {role};
             DO $$ BEGIN
                 EXECUTE format('GRANT CREATE ON DATABASE %I TO {role}', current_database());
             END $$"
        );
        client.batch_execute(&create).await.unwrap();
        for setting in settings {
            let set = format!("ALTER ROLE {role} SET {setting}");
            client.batch_execute(&set).await.unwrap();
        }
        OfRole {
            place,
            role,
            client,
        }
    }

    fn options(&self) -> Options {
        let address = self.place.address_of(&self.role);
        self.place.options(address, "a")
    }

    fn node(&self) -> Arc<PostgresJournal> {
        Arc::new(self.options().open().unwrap())
    }

    async fn run(&self, statements: &str) {
        self.client.batch_execute(statements).await.unwrap();
    }

    async fn end(self, node: Arc<PostgresJournal>) {
        node.close().await.unwrap();
        let role = &self.role;
        self.run(&format!("DROP OWNED BY {role} CASCADE; DROP ROLE {role}"))
            .await;
    }
}

/// An append waits for its row longer than any of these timeouts.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn timeouts_and_isolation_of_the_role_do_not_count() {
    let of_role = OfRole::with(&[
        "statement_timeout = '50ms'",
        "lock_timeout = '50ms'",
        "idle_in_transaction_session_timeout = '50ms'",
        "default_transaction_isolation = 'serializable'",
        "search_path = public",
    ])
    .await;
    let node = of_role.node();
    let mut stream = Stream::new(1);
    stream.append(&*node, &["{}"]);
    let holder = of_role.place.client().await;
    let hold = "BEGIN; SELECT FROM head FOR UPDATE";
    holder.batch_execute(hold).await.unwrap();
    let (appender, append) = (Arc::clone(&node), stream.next(&["{}"]));
    let appended = tokio::spawn(async move { appender.append(append).await });
    of_role.place.blocked(1).await;
    // The time of the timeouts passes in the server.
    let wait = "SELECT pg_sleep(0.1)";
    holder.batch_execute(wait).await.unwrap();
    holder.batch_execute("COMMIT").await.unwrap();
    assert_eq!(appended.await.unwrap().ok(), stream.head());
    of_role.end(node).await;
}

/// With `off`, a crash of the server would lose the append after its acknowledgement.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn accepted_commit_setting_outlives_a_change_of_the_default() {
    let of_role = OfRole::with(&[]).await;
    let node = of_role.node();
    let mut stream = Stream::new(1);
    stream.append(&*node, &["{}"]);
    let role = &of_role.role;
    of_role
        .run(&format!(
            "ALTER ROLE {role} SET synchronous_commit = off;
             CREATE TABLE seen (setting text);
             GRANT ALL ON seen TO {role};
             CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                 INSERT INTO seen VALUES (current_setting('synchronous_commit'));
                 RETURN NEW;
             END $$;
             ALTER FUNCTION see() SET search_path FROM CURRENT;
             CREATE TRIGGER seeing BEFORE INSERT ON append FOR EACH ROW EXECUTE FUNCTION see();
             SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{role}'"
        ))
        .await;
    // On new connections.
    stream.append(&*node, &["{}"]);
    let seen = of_role
        .client
        .query("SELECT DISTINCT setting FROM seen", &[]);
    let seen = seen.await.unwrap();
    let seen: Vec<String> = seen.iter().map(|row| row.get(0)).collect();
    assert_eq!(seen, ["on"]);
    of_role.end(node).await;
}

/// The outcome of a cancelled statement is known: it did nothing.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn cancelled_append_fails_and_is_not_stored() {
    let place = Place::new();
    let node = place.node("a");
    let mut stream = Stream::new(1);
    stream.append(&*node, &["{}"]);
    let holder = place.client().await;
    let hold = "BEGIN; SELECT FROM head FOR UPDATE";
    holder.batch_execute(hold).await.unwrap();
    let (appender, append) = (Arc::clone(&node), stream.clone().next(&["{}"]));
    let appended = tokio::spawn(async move { appender.append(append).await });
    place.blocked(1).await;
    let cancel = format!(
        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity
         WHERE wait_event_type = 'Lock' AND position('{}' IN query) > 0",
        place.schema()
    );
    assert_eq!(place.execute(&cancel).await, 1);
    let error = appended.await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error}");
    holder.batch_execute("COMMIT").await.unwrap();
    stream.append(&*node, &["{}"]);
    stream.assert_in(&*node);
}

/// The lease can still be renewed, and records can be read.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn node_reports_that_the_database_refuses_appends() {
    let of_role = OfRole::with(&[]).await;
    let node = of_role.node();
    let sharing = node.sharing().unwrap();
    let mut stream = Stream::new(1);
    stream.append(&*node, &["{}"]);
    assert!(sharing.takes_appends().is_ok());
    let role = &of_role.role;
    of_role
        .run(&format!("REVOKE INSERT ON append FROM {role}"))
        .await;
    let refused = node.append(stream.clone().next(&["{}"])).await;
    assert!(refused.is_err());
    let error = sharing.takes_appends().unwrap_err();
    assert!(error.to_string().contains("append"), "{error}");
    // Requests are still taken: the next append may succeed.
    assert!(node.room().is_ok() && sharing.lease().is_ok());
    of_role
        .run(&format!("GRANT INSERT ON append TO {role}"))
        .await;
    stream.append(&*node, &["{}"]);
    assert!(sharing.takes_appends().is_ok());
    of_role.end(node).await;
}

/// Without an append that is refused, the next renewals of the lease find it. A lock on the table
/// keeps no look waiting.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn node_reports_a_right_that_it_lacks() {
    let of_role = OfRole::with(&[]).await;
    let options = of_role.options().lease(Duration::from_secs(5));
    let node = Arc::new(options.open().unwrap());
    let sharing = node.sharing().unwrap();
    let role = &of_role.role;
    for (right, table) in [
        ("UPDATE", "sequencer"),
        ("DELETE", "command"),
        ("USAGE", "SEQUENCE batch_id"),
    ] {
        let revoke = format!("REVOKE {right} ON {table} FROM {role}");
        of_role.run(&revoke).await;
        let lock = "BEGIN; LOCK TABLE append, command IN EXCLUSIVE MODE";
        of_role.run(lock).await;
        while sharing.takes_appends().is_ok() {
            of_role.run("SELECT").await;
        }
        let error = causes(&sharing.takes_appends().unwrap_err());
        let lacks = format!("{right} on {}", table.trim_start_matches("SEQUENCE "));
        assert!(error.contains(&lacks), "{error}");
        let grant = format!("COMMIT; GRANT {right} ON {table} TO {role}");
        of_role.run(&grant).await;
        while sharing.takes_appends().is_err() {
            of_role.run("SELECT").await;
        }
    }
    of_role.end(node).await;
}
