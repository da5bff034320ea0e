//! Requests that expire without an answer: the call is denied, or runs as the request says.
//!
//! ```text
//! deadline_passed ─▶ confirmation_expired ─┬─ {} ────────▶ Denied
//!                                          └─ {goes_on} ─▶ Unanswered ─▶ gate_waived ─▶ Permitted
//! ```
//!
//! The request carries the term, so a later policy does not change it. But the term is part of the
//! contract: a changed one asks again, before the expiry and before the start.

use super::confirmation::set_request;
use crate::calls::call::{Call, Phase};
use crate::calls::requests::RequestState;
use crate::policies::policy::{OnExpiry, ToolPolicy};
use crate::record::decision::{About, ConfirmationExpired, Decision, GateWaived};
use crate::reducers::running::in_place;
use crate::state::session::Session;
use crate::values::id::Seq;

/// The term of a request about a call of a tool with this policy.
///
/// A call in doubt never runs again without an answer, and a tool's own question needs one.
pub(super) fn term(policy: &ToolPolicy, about: About) -> OnExpiry {
    let is_gate = policy.confirm && about == About::Gate;
    if is_gate && policy.gate_terms.let_unanswered_run() {
        OnExpiry::Allow
    } else {
        OnExpiry::Deny
    }
}

/// The expiry of a request whose time has passed.
///
/// A call that the model has cancelled does not run: an approver could still want it, but here no
/// approver decides.
pub(super) fn expire(seq: Seq, call: &Call, request: Seq) -> Decision {
    let goes_on = matches!(
        call.phase,
        Phase::AwaitingConfirmation {
            about: About::Gate,
            on_expiry: OnExpiry::Allow,
            ..
        }
    );
    ConfirmationExpired {
        call: seq,
        request,
        goes_on: goes_on && !call.model_lost_interest,
    }
    .into()
}

/// The waiver of the gate of a call that runs without an answer.
pub(crate) fn waive(seq: Seq, call: &Call, request: Seq) -> Decision {
    let reason = format!(
        "no person answered in time, and the policy of {:?} lets a call run then \
         (on_expiry: allow)",
        call.name
    );
    GateWaived {
        call: seq,
        reason,
        unanswered: Some(request),
    }
    .into()
}

pub(crate) fn expired(session: &mut Session, at: Seq, it: &ConfirmationExpired) {
    let goes_on = it.goes_on;
    set_request(session, it.request, RequestState::Expired { at, goes_on });
    let now = session.at;
    if let Some(call) = session.calls.get_mut(&it.call)
        && !in_place::resume(call, now)
        && let Phase::AwaitingConfirmation { about, .. } = call.phase
    {
        call.phase = if goes_on {
            Phase::Unanswered {
                request: it.request,
            }
        } else {
            Phase::Denied {
                about,
                reason: None,
                expired: true,
            }
        };
    }
}

#[cfg(test)]
#[path = "unanswered_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod tests;
