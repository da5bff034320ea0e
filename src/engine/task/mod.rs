//! The task of one session, its only writer: receive, admit, step, append, perform.
//!
//! It does not know the engine that began it. Read `parts` and `session_task`, then the folders:
//! `record` puts batches on record, `connection` opens and loses connections, `effects` begins owed
//! effects. `time` sets the `timer`; `yield_after_sync` shares the thread with other sessions;
//! `patient_journal` waits for room; `idle`, `retiring`, `closing` and `drain` are ends: of a
//! silent connection, of an idle task, of the session, of the engine. A file with the name of one
//! in a room below has the steps for that value.

mod closing;
mod connection;
mod drain;
mod draining;
mod effects;
pub(super) mod idle;
pub(super) mod parts;
pub(super) mod patient_journal;
mod record;
mod retiring;
pub(super) mod session_task;
mod time;
mod timer;
pub(super) mod yield_after_sync;
