//! Admission of standing leaves: the answers that give one, and their revocation.

use super::command::{Rejection, UnfitAnswer};
use crate::record::approvals::answers::ToolConfirmation;
use crate::record::approvals::standing::RULES_OF_LEAVES;
use crate::record::observation::{LeaveRevoked, Observation};
use crate::state::session::Session;
use crate::state::standing::permits;
use crate::values::actor::Actor;
use crate::values::id::Seq;

/// Checks the standing leave that an answer gives, if it gives one.
pub(super) fn admit_leave(
    session: &Session,
    call: Seq,
    request: Seq,
    answer: &ToolConfirmation,
    by: &Actor,
) -> Result<(), Rejection> {
    let Some(allow_for) = answer.allow_for else {
        return Ok(());
    };
    let call = session.calls.get(&call);
    if !call.is_some_and(|call| permits(session, call)) {
        return Err(Rejection::LeaveNotPermitted);
    }
    let request = session.requests.get(&request);
    let asking = request.and_then(|it| it.asking.as_deref());
    let mut before = asking.into_iter().flat_map(|it| &it.given);
    let differs = before.any(|it| it.allow_for.is_some_and(|it| it.least(allow_for).is_none()));
    let problem = if !answer.confirmed {
        Some("only an approval can allow later calls".to_owned())
    } else if answer.args.is_some() {
        Some("an approval with changed arguments cannot allow later calls".to_owned())
    } else if by.is_program() {
        Some("only a person can allow later calls".to_owned())
    } else if differs {
        Some("an approval before this one has a bound of the other kind".to_owned())
    } else {
        allow_for.ended_at(session.at)
    };
    match problem {
        None => Ok(()),
        Some(problem) => Err(Rejection::UnfitAnswer(UnfitAnswer::InvalidLeave {
            problem,
        })),
    }
}

/// Turns the revocation of a leave into its record.
pub(super) fn revoked(
    session: &Session,
    leave: Seq,
    reason: Option<String>,
    by: Actor,
) -> Result<Observation, Rejection> {
    if session.closed {
        return Err(Rejection::SessionClosed);
    }
    let standing = session.leaves.get(&leave);
    let standing = standing.ok_or(Rejection::UnknownLeave { leave })?;
    if let Some(end) = &standing.ended {
        let end = Box::new(end.clone());
        return Err(Rejection::LeaveEnded { leave, end });
    }
    standing.admits(&by).map_err(Rejection::LeaveBarred)?;
    let rules = RULES_OF_LEAVES;
    Ok(LeaveRevoked {
        leave,
        by,
        reason,
        rules,
    }
    .into())
}
