//! Records: every event of a session, its shape in the journal, and where it comes from.
//!
//! Nothing here folds an event or knows a session. Read `event`, then `observation` and `decision`.

pub(super) mod agent_run;
mod answers;
pub(super) mod decision;
pub(super) mod event;
#[cfg(feature = "schema")]
pub(super) mod event_schema;
pub(super) mod finding;
pub(super) mod hook;
pub(super) mod media;
pub(super) mod observation;
mod provenance;
pub(super) mod reconnection;
mod state_change;
mod tool_report;
mod upcast;
