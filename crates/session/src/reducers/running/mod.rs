//! Runs of agents, of tools that ask while they run, and of tools that report progress.
//!
//! The tracker starts the runs. Read `attempts`, then `agents`, `in_place`, `progress` and
//! `terms`.

pub(crate) mod agents;
pub(crate) mod attempts;
pub(crate) mod in_place;
pub(crate) mod progress;
pub(crate) mod terms;
