//! The admission of every command.

use crate::admission::admit::admit_with;
use crate::admission::command::{Command, Rejection};
use crate::record::observation::Observation;
use crate::reducers::claiming;
use crate::state::session::Session;

/// Turns a command into an observation, or rejects it.
///
/// # Errors
/// A [`Rejection`] with the reason, and with the record where there is one.
pub fn admit(session: &Session, command: Command) -> Result<Observation, Rejection> {
    admit_with(session, command, claiming::admit)
}
