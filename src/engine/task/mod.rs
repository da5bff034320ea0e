//! The task of one session, its only writer: receive, admit, step, append, perform.
//!
//! It does not know the engine that began it. Read `session_task` for the parts and the loop, then
//! the folders: `record` puts batches on record, `connection` opens and loses connections, `effects`
//! begins what is owed.

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
