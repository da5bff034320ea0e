//! A kill while the database carries out an append.

use std::thread;

use tokio::runtime::Builder;
use tokio_postgres::Client;

use crate::schema::{Schema, connect};

/// Holds the next append in the database, and calls `held` once it waits there.
///
/// The lock is this process's own: its kill ends the lock, and the database carries the append out,
/// or not, while the next process takes over.
pub(super) fn hold_next_append(schema: &Schema, held: impl FnOnce() + Send + 'static) {
    let name = schema.name.clone();
    let (locked, is_locked) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (holder, looker) = (connect().await, connect().await);
            let lock = format!("BEGIN; LOCK TABLE \"{name}\".append IN SHARE MODE");
            holder.batch_execute(&lock).await.unwrap();
            locked.send(()).unwrap();
            while !waits(&looker, &name).await {}
            held();
            std::future::pending::<()>().await;
        });
    });
    is_locked.recv().unwrap();
}

/// True if a statement of the schema waits for a lock.
async fn waits(client: &Client, schema: &str) -> bool {
    let count = "SELECT count(*) FROM pg_stat_activity
         WHERE wait_event_type = 'Lock' AND position($1 IN query) > 0";
    let row = client.query_one(count, &[&schema]).await.unwrap();
    row.get::<_, i64>(0) > 0
}
