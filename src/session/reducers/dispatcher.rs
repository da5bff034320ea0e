//! A call from received to answered.
//!
//! ```text
//! function_call_received ─▶ policy_decided ─▶ (confirmation) ─▶ call_ready ─▶ (tracker) ─▶ response_issued
//!                                    └─ refused ──────────────────────────────────────────▶ response_issued
//!                 taken back at any point ──▶ call_cancelled, or response_issued{cancelled}
//! ```

use crate::session::call::{Call, Flaw, Leave, Phase};
use crate::session::decision::{
    CallCancelled, CallReady, CancelReason, ConfirmationWithdrawn, Decision, Outcome,
    PolicyDecided, ResponseIssued, Rule, Verdict,
};
use crate::session::id::Seq;
use crate::session::json::Json;
use crate::session::observation::FunctionCallReceived;
use crate::session::state::{Delivery, Session, Settled};

use super::conversation;

pub(in crate::session) fn call_received(
    session: &mut Session,
    seq: Seq,
    it: &FunctionCallReceived,
) {
    if let Some(id) = &it.id {
        // The service may deliver one call twice on a connection; the second changes nothing, even where it is read
        // after the connection was lost.
        let delivered = (it.epoch, id.clone());
        if session.wire_ids.contains_key(&delivered) {
            return;
        }
        session.wire_ids.insert(delivered, seq);
    }
    let flaw = match (&it.name, &it.malformed_args, &it.invalid_args) {
        (None, _, _) => Some(Flaw::MissingName),
        (Some(_), Some(malformed), _) => Some(Flaw::MalformedArgs(malformed.problem.clone())),
        (Some(_), None, Some(problem)) => Some(Flaw::InvalidArgs(problem.clone())),
        (Some(_), None, None) => None,
    };
    let call = Call {
        epoch: it.epoch,
        wire_id: it.id.clone(),
        name: it.name.clone().unwrap_or_default(),
        args: it.args.clone().unwrap_or_else(Json::empty_object),
        sealed_args: it.sealed_args.clone(),
        flaw,
        phase: Phase::Received,
        since: session.at,
        attempts: 0,
        contract: None,
        cancel: None,
        model_lost_interest: false,
    };
    session.calls.insert(seq, call);
}

/// What the policies say to a call that was just received.
pub(in crate::session) fn judge(session: &Session, seq: Seq, call: &Call) -> Decision {
    let gated = session.terms.policies.of(&call.name).confirm;
    let known = session.terms.catalog.tools.contains_key(&call.name);
    let (verdict, rule, reason) = match &call.flaw {
        Some(Flaw::MissingName) => (
            Verdict::Refused,
            Rule::MissingName,
            Some("the function call has no name".to_owned()),
        ),
        Some(Flaw::MalformedArgs(_) | Flaw::InvalidArgs(_)) | None if !known => (
            Verdict::Refused,
            Rule::UnknownTool,
            Some(format!("there is no tool named {:?}", call.name)),
        ),
        Some(Flaw::MalformedArgs(problem)) => {
            (Verdict::Refused, Rule::MalformedArgs, Some(problem.clone()))
        }
        Some(Flaw::InvalidArgs(problem)) => {
            (Verdict::Refused, Rule::InvalidArgs, Some(problem.clone()))
        }
        None if gated => (Verdict::Ask, Rule::Confirm, None),
        None => (Verdict::Allowed, Rule::Default, None),
    };
    PolicyDecided {
        call: seq,
        verdict,
        rule,
        reason,
        policies: session.terms.policies_hash,
    }
    .into()
}

pub(in crate::session) fn policy_decided(session: &mut Session, it: &PolicyDecided) {
    let phase = match it.verdict {
        Verdict::Allowed => Phase::Permitted { waived: false },
        Verdict::Ask => Phase::Gated,
        Verdict::Refused => Phase::Refused {
            reason: it.reason.clone().unwrap_or_default(),
            kind: it.rule.error_kind(),
        },
    };
    set_phase(session, it.call, phase);
}

impl Rule {
    /// The `kind` under which the model hears of a refusal by this rule.
    fn error_kind(self) -> &'static str {
        match self {
            Rule::MissingName | Rule::UnknownTool => "not_found",
            Rule::MalformedArgs | Rule::InvalidArgs => "invalid_args",
            Rule::Confirm | Rule::Default => "refused",
        }
    }
}

/// The response to a refused call.
pub(in crate::session) fn refuse(
    session: &Session,
    seq: Seq,
    call: &Call,
    reason: &str,
    kind: &str,
) -> Decision {
    made_here(
        session,
        seq,
        call,
        Outcome::Refused,
        error(session, kind, reason),
    )
}

pub(in crate::session) fn ready(seq: Seq) -> Decision {
    CallReady { call: seq }.into()
}

pub(in crate::session) fn call_ready(session: &mut Session, seq: Seq) {
    let Some(call) = session.calls.get_mut(&seq) else {
        return;
    };
    let leave = match &call.phase {
        Phase::Approved { request } => Leave::Approved(*request),
        Phase::Permitted { waived: true } => Leave::Waived,
        Phase::Permitted { waived: false } => Leave::NotGated,
        Phase::Received
        | Phase::Refused { .. }
        | Phase::Gated
        | Phase::AwaitingConfirmation { .. }
        | Phase::Withdrawn
        | Phase::Denied { .. }
        | Phase::Ready { .. }
        | Phase::Running { .. }
        | Phase::InDoubt { .. }
        | Phase::Paused { .. }
        | Phase::Returned { .. }
        | Phase::Supplied { .. }
        | Phase::TimedOut => return,
    };
    call.phase = Phase::Ready { leave };
}

pub(in crate::session) fn respond_returned(
    session: &Session,
    seq: Seq,
    call: &Call,
    of: Seq,
    failed: bool,
) -> Decision {
    let outcome = if failed {
        Outcome::Failed
    } else {
        Outcome::Returned
    };
    refers(session, seq, call, outcome, of)
}

pub(in crate::session) fn respond_supplied(
    session: &Session,
    seq: Seq,
    call: &Call,
    of: Seq,
) -> Decision {
    refers(session, seq, call, Outcome::Supplied, of)
}

pub(in crate::session) fn respond_interim(
    session: &Session,
    seq: Seq,
    call: &Call,
    interim: Option<Seq>,
) -> Option<Decision> {
    interim.map(|of| refers(session, seq, call, Outcome::Interim, of))
}

/// The end of a call that somebody took back.
///
/// The model hears nothing of what it took back itself, and after a close there is nobody to hear.
pub(in crate::session) fn cancel(
    session: &Session,
    seq: Seq,
    call: &Call,
    reason: CancelReason,
) -> Decision {
    if let Phase::AwaitingConfirmation { request, .. } = call.phase {
        return ConfirmationWithdrawn {
            call: seq,
            request,
            reason,
        }
        .into();
    }
    match reason {
        CancelReason::Model | CancelReason::SessionClosed => {
            CallCancelled { call: seq, reason }.into()
        }
        CancelReason::Operator => {
            let told = error(session, "cancelled", CancelReason::Operator.in_words());
            made_here(session, seq, call, Outcome::Cancelled, told)
        }
    }
}

pub(in crate::session) fn call_cancelled(session: &mut Session, at: Seq, call: Seq) {
    settle(session, at, call, Outcome::Withdrawn);
}

pub(in crate::session) fn response_issued(session: &mut Session, at: Seq, it: &ResponseIssued) {
    let Some(call) = session.calls.get_mut(&it.call) else {
        return;
    };
    let delivery = Delivery {
        call: it.call,
        wire_id: call.wire_id.clone(),
        name: call.name.clone(),
        outcome: it.outcome,
        route: it.route,
        sent: false,
    };
    if it.outcome != Outcome::Interim {
        settle(session, at, it.call, it.outcome);
    } else if let Phase::Paused { interim } = &mut call.phase {
        *interim = None;
    }
    session.deliveries.insert(at, delivery);
}

/// The answer to a call that did not succeed, as the policies in force shape it.
pub(in crate::session) fn error(session: &Session, kind: &str, message: &str) -> Json {
    Json::of(&session.terms.policies.response.error(kind, message))
}

/// A response that the engine makes itself.
pub(in crate::session) fn made_here(
    session: &Session,
    seq: Seq,
    call: &Call,
    outcome: Outcome,
    response: Json,
) -> Decision {
    let route = conversation::route(session, call);
    ResponseIssued {
        call: seq,
        outcome,
        of: None,
        response: Some(response),
        route,
    }
    .into()
}

pub(in crate::session) fn set_phase(session: &mut Session, call: Seq, phase: Phase) {
    if let Some(call) = session.calls.get_mut(&call) {
        call.phase = phase;
    }
}

/// A response that stands in another record.
fn refers(session: &Session, seq: Seq, call: &Call, outcome: Outcome, of: Seq) -> Decision {
    let route = conversation::route(session, call);
    ResponseIssued {
        call: seq,
        outcome,
        of: Some(of),
        response: None,
        route,
    }
    .into()
}

fn settle(session: &mut Session, at: Seq, seq: Seq, outcome: Outcome) {
    if let Some(call) = session.calls.remove(&seq) {
        session.settled.insert(
            seq,
            Settled {
                outcome,
                attempts: call.attempts,
                at,
            },
        );
    }
}

#[cfg(test)]
#[path = "dispatcher_tests.rs"]
mod tests;
