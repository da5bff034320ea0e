//! The engine itself: its agents, its sessions' tasks, and the alarm that wakes them.
//!
//! Read `engine`, then `restart` for the start of a new process; `folded` reads a session,
//! `served` lists what the engine serves. `adopting` and `observing` are for a journal that several
//! processes write.

mod adopting;
mod alarm_task;
pub(super) mod engine;
mod folded;
mod observing;
mod restart;
mod served;
