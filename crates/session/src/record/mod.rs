//! Records: the events of a session, their shape in the journal, and their causes.
//!
//! This module folds no event and knows no session. Read `event`, then `observation` and
//! `decision`, whose enums are made by the macro in `kinds`. `answers`, `tool_report`, `claims`,
//! `llm`, `reconnection`, `catalog_change`, `state_change`, `standing`, `pause`, `hook` and `media`
//! have the records of their subjects. `needs` has the terms of a request, and `approval` its
//! partial answers. `provenance` finds the record that an observation is about, `upcast` reads
//! bodies of older versions, and `written` keeps the text that an approver wrote.

pub(super) mod answers;
pub(super) mod approval;
pub(super) mod catalog_change;
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
pub(super) mod needs;
pub(super) mod observation;
pub(super) mod pause;
mod provenance;
pub(super) mod reconnection;
pub(super) mod standing;
mod state_change;
mod tool_report;
mod upcast;
mod written;
