//! Acknowledgements: interim responses to calls that begin to wait for something outside.
//!
//! With them the model does not wait for the call and can continue the conversation. A policy may
//! hold an acknowledgement back for a time (`acknowledge_after`). A call that ends before that time
//! only gets its final response.
//!
//! ```text
//! confirmation_requested ─┬────────────────────▶ response_issued{interim} ─▶ … ─▶ response_issued
//!                         └─▶ deadline_passed ─┘  (a person decides)
//! ```

use serde_json::json;

use super::conversation;
use super::responses::engine_response;
use crate::calls::call::{Call, Phase, WaitsFor};
use crate::json::Json;
use crate::record::decision::{Decision, Outcome, Route};
use crate::record::observation::Deadline;
use crate::state::effect::Effect;
use crate::state::session::Session;
use crate::values::id::Seq;
use crate::values::time::Timestamp;

/// The status in the acknowledgement of a waiting call, if one is due.
pub(crate) fn status(session: &Session, call: &Call) -> Option<&'static str> {
    let status = status_of_wait(session, call)?;
    due_at(session, call).is_none().then_some(status)
}

/// The status in the acknowledgement of a waiting call, due now or later.
///
/// A call is acknowledged only by its id on its own connection, because only there may the model
/// wait for it. A paused tool has chosen to send no interim response. It is acknowledged only for a
/// model that takes a single response, because that model would wait forever.
fn status_of_wait(session: &Session, call: &Call) -> Option<&'static str> {
    let by_id = matches!(
        conversation::route(session, call, Outcome::Interim),
        Route::ToolResponse { .. }
    );
    if !session.terms.policies.acknowledges || call.acknowledged || !by_id {
        return None;
    }
    match call.phase.waits_for() {
        WaitsFor::Person => Some("awaiting_confirmation"),
        WaitsFor::Response if session.single_response => Some("pending"),
        WaitsFor::Response
        | WaitsFor::Nothing
        | WaitsFor::Runner
        | WaitsFor::Tool
        | WaitsFor::Hook
        | WaitsFor::Calls
        | WaitsFor::Time => None,
    }
}

/// The time before which the wait is not acknowledged. `None` if there is none, or it is on record
/// that it has passed.
///
/// It follows from the beginning of the wait and the policy in force. A pause is an observation, so
/// no decision could carry the time.
fn due_at(session: &Session, call: &Call) -> Option<Timestamp> {
    let since = call.unacknowledged_since?;
    if !session.terms.delays_acknowledgements {
        return None;
    }
    let after = session.terms.policies.acknowledge_after(&call.name)?;
    Some(since.after(after))
}

/// Folds the end of the time for which a wait is not acknowledged.
///
/// Under other policies than those of the record, that time may not have passed.
pub(crate) fn deadline_passed(session: &mut Session, seq: Seq) {
    let call = session.calls.get(&seq);
    let due = call.and_then(|call| due_at(session, call));
    if due.is_some_and(|due| due <= session.at)
        && let Some(call) = session.calls.get_mut(&seq)
    {
        call.unacknowledged_since = None;
    }
}

/// The timer of an acknowledgement that is due later, if the call could be acknowledged now.
///
/// A request that expires before needs none.
pub(crate) fn owed(session: &Session, seq: Seq, call: &Call, effects: &mut Vec<Effect>) {
    let Some(due_us) = due_at(session, call) else {
        return;
    };
    let expires_before = if let Phase::AwaitingConfirmation {
        expires_at: Some(expiry),
        ..
    } = call.phase
    {
        expiry <= due_us
    } else {
        false
    };
    if !expires_before && status_of_wait(session, call).is_some() {
        effects.push(Effect::ArmTimer {
            deadline: Deadline::Acknowledgement { call: seq },
            due_us,
        });
    }
}

/// Issues the acknowledgement of a waiting call, if one is due.
pub(crate) fn acknowledge(session: &Session, seq: Seq, call: &Call) -> Option<Decision> {
    let status = status(session, call)?;
    let policies = &session.terms.policies;
    let chosen = policies.of(&call.name).acknowledgement.clone();
    let words = chosen
        .filter(|_| call.phase.waits_for() == WaitsFor::Person)
        .unwrap_or_else(|| json!({"status": status, "tool": call.name}));
    let response = Json::of(&policies.response.success(words, None));
    Some(engine_response(
        session,
        seq,
        call,
        Outcome::Interim,
        response,
    ))
}

#[cfg(test)]
#[path = "acknowledgement_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "acknowledged_later_tests.rs"]
mod acknowledged_later_tests;
