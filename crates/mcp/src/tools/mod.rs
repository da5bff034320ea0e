//! The tools of a server, over a connection that is made again where it was lost.
//!
//! They know no session and no approval: an engine sees tools like any other. Read `tool`, then
//! `remote`, `connection` and `task`.

mod connection;
pub(super) mod remote;
mod task;
pub(super) mod tool;
