//! Empty schemas, used again.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::schema::Schema;

/// The tables with rows.
const TABLES: [&str; 11] = [
    "append",
    "batch",
    "command",
    "head",
    "key_store",
    "node",
    "object",
    "opening",
    "request",
    "snapshot",
    "work",
];

static EMPTY: Mutex<Vec<Schema>> = Mutex::new(Vec::new());

/// Returns a schema with an empty journal.
pub(crate) fn take() -> Schema {
    empty().pop().unwrap_or_else(Schema::new)
}

/// Empties a schema that no process has open, for the next test. It takes a few milliseconds, and
/// the tables of a new schema take 0.2 s.
pub(crate) fn give_back(schema: Schema) {
    let deletes = TABLES.map(|table| format!("DELETE FROM \"{}\".{table};", schema.name));
    let first = format!("UPDATE \"{}\".sequencer SET position = 0", schema.name);
    schema.execute(&(deletes.concat() + &first));
    empty().push(schema);
}

fn empty() -> MutexGuard<'static, Vec<Schema>> {
    EMPTY.lock().unwrap_or_else(PoisonError::into_inner)
}
