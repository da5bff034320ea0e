//! The admission of every command.

use crate::admission::admit::admit_with;
use crate::admission::command::{Command, Rejection};
use crate::record::observation::Observation;
use crate::reducers::claiming;
use crate::state::session::Session;
use crate::values::time::Timestamp;

/// Turns a command into an observation, or rejects it, at the time of the session's last record.
///
/// A caller with a clock uses [`admit_at`], because a limit of approvals per minute depends on the
/// time.
///
/// # Errors
/// A [`Rejection`] with the reason, and with the record where there is one.
pub fn admit(session: &Session, command: Command) -> Result<Observation, Rejection> {
    admit_at(session, session.at, command)
}

/// Turns a command that arrives at `now` into an observation, or rejects it.
///
/// ```
/// use recount_session::testing::{history, toolbox};
/// use recount_session::admit_at;
/// use serde_json::json;
///
/// let told = history().opened("support").attached(&toolbox().gated("pay")).connected();
/// let asked = told.call("c1", "pay", json!({}));
/// assert!(admit_at(asked.session(), asked.now(), asked.answer(true, None, "ada")).is_ok());
/// ```
///
/// # Errors
/// A [`Rejection`] with the reason, and with the record where there is one.
pub fn admit_at(
    session: &Session,
    now: Timestamp,
    command: Command,
) -> Result<Observation, Rejection> {
    admit_with(session, now, command, claiming::admit)
}
