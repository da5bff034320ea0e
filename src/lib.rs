//! An event-sourced session engine for live LLM agents, with a replayable journal.
//!
#![cfg_attr(feature = "live", doc = include_str!("../README.md"))]

pub mod session;

#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "engine")]
pub mod engine;
#[cfg(feature = "engine")]
pub mod ledger;
pub mod live;
#[cfg(feature = "engine")]
pub mod prelude;
#[cfg(feature = "engine")]
pub mod replay;
#[cfg(feature = "simulator")]
pub mod simulator;
#[cfg(any(test, feature = "given"))]
pub mod testing;
#[cfg(feature = "engine")]
pub mod tool;

#[cfg(feature = "live")]
pub use engine::Live;
#[cfg(feature = "engine")]
pub use engine::{
    Agent, ConfirmationProvider, ConfirmationRequest, Engine, FunctionResponse, LiveHandle,
    StaticConfirmation, Ticket, ToolConfirmation,
};
#[cfg(feature = "engine")]
pub use recount_journal as journal;
#[cfg(feature = "engine")]
pub use schemars;
#[cfg(feature = "engine")]
pub use tool::{T, ToolContext, ToolDispatcher, ToolError, ToolFunction};
