//! A call that begins to wait for somebody outside is acknowledged, so that the model waits for
//! nothing.
//!
//! ```text
//! confirmation_requested ─▶ response_issued{interim} ─▶ (a person decides) ─▶ … ─▶ response_issued
//! ```

use serde_json::json;

use super::conversation;
use super::responses::made_here;
use crate::calls::call::{Call, WaitsFor};
use crate::json::Json;
use crate::record::decision::{Decision, Outcome, Route};
use crate::state::session::Session;
use crate::values::id::Seq;

/// Whether a call that begins to wait for somebody outside is to be acknowledged, and with what
/// status.
///
/// Only by its id on its own connection, where the model may wait for it. A tool that goes on
/// elsewhere chose itself to say nothing, which a model that takes one response and waits for it
/// would take for ever.
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

/// Tells the model at once that the call waits.
pub(crate) fn acknowledge(session: &Session, seq: Seq, call: &Call) -> Option<Decision> {
    let status = status(session, call)?;
    let policies = &session.terms.policies;
    let chosen = policies.of(&call.name).acknowledgement.clone();
    let words = chosen
        .filter(|_| call.phase.waits_for() == WaitsFor::Person)
        .unwrap_or_else(|| json!({"status": status, "tool": call.name}));
    let told = Json::of(&policies.response.success(words, None));
    Some(made_here(session, seq, call, Outcome::Interim, told))
}

#[cfg(test)]
#[path = "acknowledgement_tests.rs"]
mod tests;
