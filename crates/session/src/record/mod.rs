//! Records: the events of a session, their shape in the journal, and their causes.
//!
//! This module folds no event and knows no session. Read `event`, then `observation` and
//! `decision`, whose enums are made by the macro in `kinds`. `approvals`, `runner`, `tool_report`,
//! `claims`, `llm`, `reconnection`, `state_change`, `pause`, `hook` and `media` have the records of
//! their subjects. `provenance` finds the record that an observation is about, and `upcast` reads
//! bodies of older versions.

pub(super) mod approvals;
mod claims;
pub(super) mod decision;
pub(super) mod event;
#[cfg(feature = "schema")]
pub(super) mod event_schema;
pub(super) mod finding;
pub(super) mod hook;
mod kinds;
mod llm;
pub(super) mod media;
pub(super) mod observation;
pub(super) mod pause;
mod provenance;
pub(super) mod reconnection;
mod runner;
mod state_change;
mod tool_report;
mod upcast;
