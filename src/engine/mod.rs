//! The engine: receive, admit, step, append, perform.
//!
//! The only place with tasks, a clock and entropy. It does not decide: what follows from what is the session's.

mod adk_events;
mod adk_position;
mod agent;
mod agent_secrets;
mod agents_named;
mod alarm;
mod answering;
mod answering_task;
mod arrivals;
mod asking;
mod asking_task;
mod attach;
mod attempted_answer;
mod beginning;
mod builder;
mod callbacks;
mod callers;
mod callers_task;
mod cancelling;
mod client_messages;
mod client_responses;
mod clock;
mod close_codes;
mod closing;
mod connecting;
mod desk;
mod desk_turn;
mod draining;
mod draining_hub;
mod draining_task;
mod effects;
mod engine;
mod error;
mod extractors;
mod extractors_task;
mod folding;
mod following;
mod full_disk;
mod full_disk_task;
mod handle;
mod heard_media;
mod held_back;
mod held_back_task;
mod hooks;
mod hooks_task;
mod implementations;
mod inbox;
mod incoming;
mod input_lines;
mod listener;
mod listening;
#[cfg(feature = "live")]
mod live;
#[cfg(feature = "live")]
mod live_agent;
mod live_event;
#[cfg(feature = "live")]
mod live_session_builder;
mod media;
mod message_limit;
mod message_limit_task;
mod noise;
mod noise_task;
mod notices;
mod notices_hub;
mod of_progress;
mod of_progress_task;
#[cfg(feature = "live")]
mod operator;
mod outcomes;
mod outcomes_task;
mod pending;
mod performer;
mod phases;
mod piece;
#[cfg(feature = "play")]
mod played;
mod policies;
mod prepared;
mod program;
mod publisher;
pub(crate) mod reasons;
mod received;
mod reconciling;
mod reconnecting;
mod reconnecting_task;
mod reconnects;
mod record;
mod recorded;
mod recorded_hub;
mod recorded_task;
mod redaction;
mod redaction_hub;
mod redaction_task;
mod registry;
mod responding;
mod restart;
mod retiring;
mod ringing;
mod run_of_agent;
mod run_of_agent_task;
mod secrets;
mod session_of_run;
mod sessions;
mod slots;
mod socket;
mod stint;
mod story;
mod story_task;
pub(crate) mod takeover;
mod task;
mod text_agents;
mod text_agents_hub;
mod text_agents_task;
mod timer;
mod timer_task;
mod updates;
mod verdicts;
mod waived_gates;
mod withholding;
mod withholding_hub;
mod withholding_task;
mod words;
mod writer;
mod yields;

pub use adk_events::{AdkEvents, AdkPage};
pub use adk_position::{AdkPosition, AdkPositionError};
pub use agent::Agent;
pub use builder::EngineBuilder;
pub use callbacks::Callbacks;
pub use clock::{Clock, SystemClock};
pub use desk::Desk;
pub use engine::Engine;
pub use error::Error;
pub use extractors::Turn;
pub use handle::LiveHandle;
pub use listener::Listener;
#[cfg(feature = "live")]
pub use live::{Live, LiveBuilder};
pub use live_event::LiveEvent;
#[cfg(feature = "live")]
pub use live_session_builder::{LiveSessionBuilder, SessionConfig};
pub use notices::{ConfirmationDecided, ConfirmationVerdict, SettledApart};
pub use phases::{PhaseBuilder, ToolNames};
#[doc(hidden)]
pub use program::PROGRAM;
pub use received::Received;
pub use reconnects::Reconnects;
#[doc(hidden)]
pub use responding::supplies_json;
pub use sessions::NewSession;
pub use updates::Updates;

pub use crate::tool::{
    ConfirmationProvider, ConfirmationRequest, FunctionResponse, StaticConfirmation, Ticket,
    ToolConfirmation,
};
