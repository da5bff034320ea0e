//! The engine itself: its agents, its sessions' tasks, and the alarm that wakes them.
//!
//! Read `engine`, then `restart` for the start of a new process; `folded` reads a session,
//! `served` lists what the engine serves. In a journal that several processes write, `adopting`
//! takes over sessions of processes that are gone, `spreading` leaves some to others, `stranded`
//! finds own ones without a task, `observing` applies what other processes write to the journal's
//! own stream, and `key_store` checks that all have the same keys.

mod adopting;
mod alarm_task;
pub(super) mod engine;
mod folded;
mod key_store;
mod observing;
mod restart;
mod served;
mod spreading;
mod stranded;
