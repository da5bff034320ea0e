//! Tools that are ready made, under the names that SAMMY Three has for them on the wire: one a
//! file, with the event that it emits.
//!
//! They know the embedding program by what it registers, and nothing else of it. Read `of_t`.

pub(super) mod end_session;
pub(super) mod escalate;
pub(super) mod get_context;
mod of_t;
mod ready_made;
