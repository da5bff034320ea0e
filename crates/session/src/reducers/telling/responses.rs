//! The responses to calls, as decisions.

use super::conversation;
use crate::calls::call::Call;
use crate::json::Json;
use crate::record::decision::{Decision, Outcome, ResponseIssued};
use crate::state::session::Session;
use crate::values::id::Seq;

/// The error response to a call, in the shape that the policies define.
pub(crate) fn error(session: &Session, kind: &str, message: &str) -> Json {
    Json::of(&session.terms.policies.response.error(kind, message))
}

/// A response whose content the engine makes itself.
pub(crate) fn engine_response(
    session: &Session,
    seq: Seq,
    call: &Call,
    outcome: Outcome,
    response: Json,
) -> Decision {
    let route = conversation::route(session, call, outcome);
    ResponseIssued {
        call: seq,
        outcome,
        of: None,
        response: Some(response),
        route,
    }
    .into()
}

/// A response whose content is in another record.
pub(crate) fn recorded_response(
    session: &Session,
    seq: Seq,
    call: &Call,
    outcome: Outcome,
    of: Seq,
) -> Decision {
    let route = conversation::route(session, call, outcome);
    ResponseIssued {
        call: seq,
        outcome,
        of: Some(of),
        response: None,
        route,
    }
    .into()
}
