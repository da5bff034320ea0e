//! The task of one session, its only writer: receive, admit, step, append, perform.
//!
//! It does not know the engine that began it. Read `parts` and `session_task`, then the folders:
//! `record` puts batches on record, `connection` opens and loses connections, `effects` begins owed
//! effects. `time` sets the `timer`; `stint` shares the thread with other sessions; `full_disk`
//! waits for room; `folding`, `retiring`, `closing` and `drain` are ends: of a silent connection,
//! of an idle task, of the session, of the engine. `alarm` has the due times of sessions without a
//! task.

pub(super) mod alarm;
mod closing;
mod connection;
mod drain;
mod draining;
mod effects;
pub(super) mod folding;
pub(super) mod full_disk;
pub(super) mod parts;
mod record;
mod retiring;
pub(super) mod session_task;
pub(super) mod stint;
mod time;
mod timer;
