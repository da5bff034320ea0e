//! A kill while the database carries out an append.
//!
//! A lock of the killed process holds the append in the database. There it goes on without its
//! process.

use std::sync::mpsc::channel;
use std::thread;

use tokio::runtime::Builder;
use tokio_postgres::Client;

use crate::schema::{Schema, connect};

/// The time at which the lock ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// With the process: the append is carried out while the next one starts.
    Kill,
    /// The next process appends, too. The first append must fail: another process owns the session.
    Takeover,
}

/// Holds the next append in the database, and calls `held` once it waits there.
pub(super) fn hold_next_append(
    schema: &Schema,
    until: Until,
    held: impl FnOnce() + Send + 'static,
) {
    let name = schema.name.clone();
    let (locked, is_locked) = channel();
    thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (holder, looker) = (connect().await, connect().await);
            let lock = format!("BEGIN; LOCK TABLE \"{name}\".append IN SHARE MODE");
            holder.batch_execute(&lock).await.unwrap();
            locked.send(()).unwrap();
            // A server that runs a statement does not see that its client is gone.
            let running = async {
                match until {
                    Until::Kill => {}
                    Until::Takeover => {
                        let takeover = takeover(&name);
                        holder.batch_execute(&takeover).await.unwrap();
                    }
                }
                std::future::pending::<()>().await;
            };
            let looking = async {
                while !waits(&looker, &name, until).await {}
                held();
            };
            tokio::join!(running, looking);
        });
    });
    is_locked.recv().unwrap();
}

/// A statement that ends when a second statement of the schema waits for the lock: the next process
/// owns the session, has read it, and appends.
fn takeover(schema: &str) -> String {
    format!(
        "SET LOCAL statement_timeout = '60s';
         DO $$ BEGIN
             WHILE (SELECT count(*) FROM pg_stat_activity
                    WHERE wait_event_type = 'Lock' AND position('{schema}' IN query) > 0) < 2 LOOP
                 PERFORM pg_stat_clear_snapshot();
             END LOOP;
         END $$"
    )
}

/// True if a statement of the schema waits for the lock, and its holder runs what it must.
async fn waits(client: &Client, schema: &str, until: Until) -> bool {
    let count = "SELECT count(*) FILTER (WHERE wait_event_type = 'Lock'),
             count(*) FILTER (WHERE state = 'active' AND position('DO $$' IN query) > 0)
         FROM pg_stat_activity WHERE position($1 IN query) > 0 AND pid <> pg_backend_pid()";
    let row = client.query_one(count, &[&schema]).await.unwrap();
    let is_held = match until {
        Until::Kill => true,
        Until::Takeover => row.get::<_, i64>(1) > 0,
    };
    is_held && row.get::<_, i64>(0) > 0
}
