//! Agents: their parts, checked as a whole and prepared for serving.
//!
//! Nothing here runs a session or opens a connection. Read `agent`, then `preparing`, which makes a
//! `prepared` one of it. `changed` prepares one with other tools. The other files are parts of an
//! agent, such as `phases` and `hooks`, or checks of them (`agents_named`, `waived_gates`).
//! `fixture` has agents that record and play.

pub(in crate::engine) mod agent;
mod agents_named;
pub(in crate::engine) mod changed;
pub(super) mod extractors;
pub(crate) mod fixture;
pub(in crate::engine) mod hooks;
mod limits_of_asking;
pub(in crate::engine) mod phases;
mod policies;
pub(super) mod prepared;
mod preparing;
pub(super) mod reconnects;
mod redacting;
mod redaction;
pub(super) mod relayed;
pub(super) mod transcripts;
mod waived_gates;
mod withholding_input;
