//! Records: the events of a session, their shape in the journal, and their causes.
//!
//! This module folds no event and knows no session. Read `event`, then `observation` and
//! `decision`, whose enums are made by the macro in `kinds`. `answers`, `tool_report`, `llm`,
//! `reconnection`, `state_change`, `pause`, `hook` and `media` have the observations of their
//! subjects. `provenance` finds the record that an observation is about, `upcast` reads bodies of
//! older versions, and `written` keeps the text that an approver wrote.

pub(super) mod answers;
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
mod state_change;
mod tool_report;
mod upcast;
mod written;
