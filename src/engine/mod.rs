//! The engine: receive, admit, step, append, perform.
//!
//! The only place with tasks, a clock and entropy. It does not decide: what follows from what is the session's.

mod admission;
mod agent;
mod clock;
mod connection;
mod desk;
mod effects;
mod error;
mod facade;
mod inbox;
mod media;
mod notify;
mod program;
pub(crate) mod reasons;
mod received;
mod serving;
mod task;
mod telling;

pub use agent::agent::Agent;
pub use agent::extractors::Turn;
pub use agent::phases::{PhaseBuilder, ToolNames};
pub use agent::reconnects::Reconnects;
pub use clock::{Clock, SystemClock};
pub use desk::desk::Desk;
#[doc(hidden)]
pub use desk::responding::supplies_json;
pub use error::Error;
pub use facade::adk_events::{AdkEvents, AdkPage};
pub use facade::adk_position::{AdkPosition, AdkPositionError};
pub use facade::builder::EngineBuilder;
pub use facade::handle::LiveHandle;
#[cfg(feature = "live")]
pub use facade::live::{Live, LiveBuilder};
#[cfg(feature = "live")]
pub use facade::live_session_builder::{LiveSessionBuilder, SessionConfig};
pub use facade::sessions::NewSession;
pub use media::live_event::LiveEvent;
pub use notify::callbacks::Callbacks;
pub use notify::listener::Listener;
pub use notify::notices::{ConfirmationDecided, ConfirmationVerdict, SettledApart};
pub use notify::updates::Updates;
#[doc(hidden)]
pub use program::PROGRAM;
pub use received::Received;
pub use serving::engine::Engine;

pub use crate::tool::{
    ConfirmationProvider, ConfirmationRequest, FunctionResponse, StaticConfirmation, Ticket,
    ToolConfirmation,
};
