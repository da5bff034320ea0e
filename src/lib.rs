//! Recount: an event-sourced session engine for live LLM agents, with a replayable journal.

pub mod session;
#[cfg(any(test, feature = "given"))]
pub mod testing;
