//! The task of one session, its only writer: receives, admits, steps, appends, performs.
//!
//! It does not know the engine that spawned it. Read `parts` and `session_task`, then the folders:
//! `record` appends batches, `connection` opens and loses connections, `effects` starts owed
//! effects. `time` sets the `timer`. `yield_after_sync` makes the task yield to other sessions on
//! its thread. `retrying_journal` waits for disk space. `idle`, `retiring`, `failing`,
//! `closing` and `drain` handle five ends: of a silent connection, of an idle task, of one that
//! failed, of the session, of the engine. A file
//! named like a file of a lower module has the session task's steps for that type.

mod closing;
mod connection;
mod drain;
mod draining;
mod effects;
mod failing;
pub(super) mod idle;
pub(super) mod parts;
mod record;
mod retiring;
pub(super) mod retrying_journal;
pub(super) mod session_task;
mod time;
mod timer;
pub(super) mod yield_after_sync;
