//! The tools of a server, over a connection that is renewed after a loss.
//!
//! These modules know no session and no approval: an engine handles them like any other tool. Read
//! `tool`, then `remote`, `connection`, `task` and `changes`.

pub(super) mod changes;
mod connection;
pub(super) mod remote;
mod task;
pub(super) mod tool;
