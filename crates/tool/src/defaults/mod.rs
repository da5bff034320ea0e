//! Ready-made tools under their names in SAMMY Three's wire protocol, one a file, with the event
//! that each emits.
//!
//! These tools use only the services that the embedding program registers. Read `of_t`.

pub(super) mod end_session;
pub(super) mod escalate;
pub(super) mod get_context;
mod of_t;
mod ready_made;
