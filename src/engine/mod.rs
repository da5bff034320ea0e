//! The engine: receives, admits, steps, appends, performs. It is the only part with tasks, a clock
//! and entropy. The session decides which effects follow.
//!
//! Its modules, each of which imports only earlier ones: `agents`, `live_media`, `telling`,
//! `inputs`, `connection`, `notify`, `effects`, `admission`, `task`, `serving`, `operations`,
//! `facade`. Read `task` first: it is the loop of one session.

mod admission;
mod agents;
mod clock;
mod connection;
mod effects;
mod error;
mod facade;
mod inputs;
mod live_media;
mod notify;
mod operations;
mod program;
pub(crate) mod reasons;
mod received;
mod serving;
mod task;
mod telling;

pub use agents::agent::Agent;
pub use agents::extractors::Turn;
pub use agents::phases::{PhaseBuilder, ToolNames};
pub use agents::reconnects::Reconnects;
pub use agents::transcripts::Transcripts;
pub use clock::{Clock, SystemClock};
pub use error::Error;
pub use facade::adk_events::{AdkEvents, AdkPage};
pub use facade::adk_position::{AdkPosition, AdkPositionError};
pub use facade::builder::EngineBuilder;
pub use facade::handle::LiveHandle;
pub use facade::live::{Live, LiveBuilder};
pub use facade::live_session_builder::{LiveSessionBuilder, SessionConfig};
pub use facade::sessions::NewSession;
pub use inputs::callers::{BegunCall, KeyedOutcome};
pub use live_media::live_event::LiveEvent;
pub use notify::callbacks::Callbacks;
pub use notify::listener::Listener;
pub use notify::notices::{ConfirmationDecided, ConfirmationVerdict, SettledApart};
pub use notify::updates::Updates;
pub use operations::call_end::{CallEnd, call_end};
pub use operations::claims::claiming::{ClaimRequest, ClientAction};
pub use operations::desk::Desk;
pub use operations::operation::{Operated, Operation};
pub use received::Received;
pub use serving::engine::Engine;
#[doc(hidden)]
pub use {inputs::relay::Relay, inputs::relay::RelayOrder, program::PROGRAM};

pub use crate::ledger::{ClaimKey, ClaimedCall};
pub use crate::tool::{
    ConfirmationProvider, ConfirmationRequest, FunctionResponse, StaticConfirmation, Ticket,
    ToolConfirmation,
};
