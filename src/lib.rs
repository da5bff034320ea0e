//! Recount: an event-sourced session engine for live LLM agents, with a replayable journal.

pub mod session;
#[cfg(feature = "simulator")]
pub mod simulator;
