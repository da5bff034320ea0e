//! Runs of agents and of clients, of tools that ask while they run or that report progress.
//!
//! The tracker starts the runs. Read `attempts`, then `agents`, `claims`, `in_place` and
//! `progress`; then `pausing`, which holds starts.

pub(crate) mod agents;
pub(crate) mod attempts;
pub(crate) mod claims;
pub(crate) mod in_place;
pub(crate) mod pausing;
pub(crate) mod progress;
