//! The embedder's side: opening an engine, beginning a session, a conversation in the hand.
//!
//! Nothing below imports it. Read `builder`, `sessions` and `handle`; `live` is all of it in one
//! expression, `operator` what the command line asks of a running engine.

pub(super) mod adk_events;
pub(super) mod adk_position;
pub(super) mod builder;
mod client_frames;
mod engine_callbacks;
pub(super) mod handle;
mod listening;
pub(super) mod live;
mod live_agent;
pub(super) mod live_session_builder;
mod operator;
mod registering;
pub(super) mod sessions;
mod shutdown;
