//! The embedder's API: engines, sessions and handles.
//!
//! No other module imports it. Read `builder`, `sessions` and `handle`, then `program_driven`;
//! `live` combines all three in one expression. `operator` handles the command line's requests to a
//! running engine.

pub(super) mod adk_events;
pub(super) mod adk_position;
pub(super) mod builder;
mod client_frames;
mod engine_callbacks;
pub(super) mod handle;
mod listening;
pub(super) mod live;
mod live_agent;
mod live_connecting;
pub(super) mod live_session_builder;
mod operator;
mod pausing;
pub(super) mod program_driven;
mod registering;
mod relaying;
pub(super) mod sessions;
mod shutdown;
