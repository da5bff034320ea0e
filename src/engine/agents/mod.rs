//! What an agent is made of, and how its sessions are served by it.
//!
//! It describes: nothing here runs, reads a journal or opens a connection. Read `agent`, then
//! `prepared`; every other file is one thing that an agent can be given.

pub(in crate::engine) mod agent;
mod agent_tools;
mod agents_named;
pub(super) mod extractors;
pub(in crate::engine) mod hooks;
pub(in crate::engine) mod phases;
#[cfg(feature = "play")]
mod played;
mod policies;
pub(super) mod prepared;
mod preparing;
pub(super) mod reconnects;
pub(in crate::engine) mod recorded;
mod recording;
mod redacting;
mod redaction;
mod waived_gates;
mod withholding_input;
