//! What an agent is made of, and how its sessions are served by it.
//!
//! It describes: nothing here runs, reads a journal or opens a connection. Read `agent`, then
//! `prepared`; every other file is one thing that an agent can be given.

pub(super) mod agent;
mod agent_tools;
mod agents_named;
pub(super) mod extractors;
pub(super) mod hooks;
pub(super) mod phases;
#[cfg(feature = "play")]
mod played;
mod policies;
pub(super) mod prepared;
pub(super) mod reconnects;
pub(super) mod recorded;
mod recording;
mod redacting;
mod redaction;
mod waived_gates;
mod withholding_input;
