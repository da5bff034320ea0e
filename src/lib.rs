//! Recount: an event-sourced session engine for live LLM agents, with a replayable journal.

#[cfg(feature = "cli")]
pub mod cli;
pub mod session;
#[cfg(feature = "engine")]
pub mod tool;
