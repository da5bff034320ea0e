//! Records: every event of a session, its shape in the journal, and its cause.
//!
//! Nothing here folds an event or knows a session. Read `event`, then `observation` and `decision`,
//! which are made by the table in `kinds`. `answers`, `tool_report`, `llm`, `reconnection`,
//! `state_change`, `hook` and `media` have the observations of their subjects; `provenance` says
//! which record an observation is about, `upcast` reads bodies of older versions, and `written` is
//! the text of what an approver wrote.

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
mod provenance;
pub(super) mod reconnection;
mod state_change;
mod tool_report;
mod upcast;
mod written;
