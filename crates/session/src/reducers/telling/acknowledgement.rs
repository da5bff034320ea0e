//! Acknowledgements: interim responses to calls that begin to wait for something outside.
//!
//! With them the model does not wait for the call and can continue the conversation.
//!
//! ```text
//! confirmation_requested ─▶ response_issued{interim} ─▶ (a person decides) ─▶ … ─▶ response_issued
//! ```

use serde_json::json;

use super::conversation;
use super::responses::engine_response;
use crate::calls::call::{Call, WaitsFor};
use crate::json::Json;
use crate::record::decision::{Decision, Outcome, Route};
use crate::state::session::Session;
use crate::values::id::Seq;

/// The status in the acknowledgement of a waiting call, if one is due.
///
/// A call is acknowledged only by its id on its own connection, because only there may the model
/// wait for it. A paused tool has chosen to send no interim response. It is acknowledged only for a
/// model that takes a single response, because that model would wait forever.
pub(crate) fn status(session: &Session, call: &Call) -> Option<&'static str> {
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
