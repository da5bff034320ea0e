//! Answers and results from outside, for sessions with a task and for those without one.
//!
//! It starts no tool. Read `operation`, `desk`, then `desk_turn`; every other file is one thing that a person or a
//! client may say.

mod cancelling;
mod client_messages;
mod client_responses;
pub(in crate::engine) mod desk;
mod desk_turn;
mod following;
#[cfg(feature = "live")]
pub(super) mod operation;
mod pending;
mod reconciling;
pub(super) mod responding;
