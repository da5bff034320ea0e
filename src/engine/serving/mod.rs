//! The engine itself: its agents, the tasks of its sessions, and who wakes them.
//!
//! Read `engine`, then `restart` for what a new process begins with.

pub(super) mod engine;
mod restart;
mod ringing;
