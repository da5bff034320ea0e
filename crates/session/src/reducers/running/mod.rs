//! Runs: of agents, of tools that ask while they run, and of tools that report progress.
//!
//! It starts none: the tracker does. Read `agents`, then `in_place` and `progress`.

pub(crate) mod agents;
pub(crate) mod in_place;
pub(crate) mod progress;
