//! A call from received to answered.
//!
//! ```text
//! function_call_received ─▶ policy_decided ─┬─ (confirmation) ─▶ call_ready ─▶ (tracker) ─┐
//!                                           └─ refused ───────────────────────────────────┴─▶
//!                                                                              response_issued
//! cancelled at any point ─▶ call_cancelled, or response_issued{cancelled}
//! ```

use std::collections::VecDeque;

use super::asking::gate::{self, Gate};
use super::asking::hooks;
use super::asking::open_requests;
use super::asking::verdict_inputs::Inputs;
use super::earlier::{cache, limits, repeats};
use super::running::{agents, claims};
use super::telling::responses::{engine_response, error, recorded_response};
use super::telling::scheduling::scheduling;
use super::telling::{conversation, phases, redelivery};
use crate::calls::call::{Call, Flaw, Leave, Phase};
use crate::calls::deliveries::{Delivery, Wording};
use crate::calls::refusal_kinds::PENDING;
use crate::calls::settled::Settled;
use crate::declared::catalog::ToolKind;
use crate::json::Json;
use crate::record::decision::{
    CallCancelled, CallReady, CancelReason, ConfirmationWithdrawn, Decision, Outcome,
    PolicyDecided, ResponseIssued, Route, Rule, Verdict,
};
use crate::record::observation::FunctionCallReceived;
use crate::state::session::Session;
use crate::values::actor::Actor;
use crate::values::id::Seq;

pub(crate) fn call_received(session: &mut Session, seq: Seq, it: &FunctionCallReceived) {
    // A second call under the key of an earlier one changes nothing: one key is one call.
    if let (Some(key), Some(_)) = (&it.key, &it.by)
        && !session.keys.add(key, seq, it)
    {
        return;
    }
    // An agent's model has ids of its own, which no connection knows.
    if let Some(id) = it.id.as_ref().filter(|_| it.parent.is_none()) {
        // The service may deliver one call twice on a connection. The second delivery changes
        // nothing, even if it is read after the connection was lost.
        let delivered = (it.epoch, id.clone());
        if session.wire_ids.contains_key(&delivered) {
            return;
        }
        if redelivery::is_redelivery(session, it, id) {
            return;
        }
        session.wire_ids.insert(delivered, seq);
        redelivery::remember_call(session, seq, it, id);
    }
    if it.by.is_none() && it.parent.is_none() {
        conversation::model_spoke(session);
    }
    let of_content = || match (&it.name, &it.malformed_args, &it.invalid_args) {
        (None, _, _) => Some(Flaw::MissingName),
        (Some(_), Some(malformed), _) => Some(Flaw::MalformedArgs(malformed.problem.clone())),
        (Some(_), None, Some(problem)) => Some(Flaw::InvalidArgs(problem.clone())),
        (Some(_), None, None) => None,
    };
    let flaw = it.beyond_max.map(Flaw::BeyondMax).or_else(of_content);
    let mut call = Call {
        epoch: it.epoch,
        wire_id: it.id.clone(),
        name: it.name.clone().unwrap_or_default(),
        args: it.args.clone().unwrap_or_else(Json::empty_object),
        sealed_args: it.sealed_args.clone(),
        flaw,
        phase: Phase::Received,
        since: session.at,
        unacknowledged_since: None,
        attempts: 0,
        contract: None,
        gate_passed: None,
        cancel: None,
        cancelled_in: None,
        model_lost_interest: false,
        made_by_program: it.by.is_some(),
        requester: requester(session, it),
        cache_key: None,
        repeat_key: None,
        background: None,
        yields: VecDeque::new(),
        told_meanwhile: false,
        acknowledged: false,
        asked: None,
        gate_verdict: None,
        moot: None,
        own_scheduling: None,
        parent: it.parent,
        agent: None,
        claim: None,
        given_back: 0,
    };
    let policy = session.terms.policies.of(&call.name);
    call.cache_key = cache::key_of(policy, &call);
    call.repeat_key = repeats::key_of(policy, &call);
    call.phase = hooks::first_phase(session, &call);
    session.calls.insert(seq, call);
    agents::call_received(session, seq, it.parent);
}

/// The actor that made the call. A call by an agent's model has the requester of the agent's call.
fn requester(session: &Session, it: &FunctionCallReceived) -> Option<Actor> {
    let own = it.by.clone();
    own.or_else(|| session.calls.get(&it.parent?)?.requester.clone())
}

/// The verdict of the policies on a call that was just received.
pub(crate) fn judge(session: &Session, seq: Seq, call: &Call) -> Decision {
    let of = cache::fresh(session, call);
    let pending = repeats::pending(session, seq, call);
    let (verdict, rule, reason) = verdict(session, seq, call, of, pending);
    let of = match rule {
        Rule::Cached => of,
        Rule::Pending => pending,
        Rule::MissingName
        | Rule::UnknownTool
        | Rule::MalformedArgs
        | Rule::InvalidArgs
        | Rule::Phase
        | Rule::Condition
        | Rule::Limit
        | Rule::Confirm
        | Rule::Default => None,
    };
    PolicyDecided {
        call: seq,
        verdict,
        rule,
        reason,
        policies: session.terms.policies_hash,
        inputs: Inputs::of(session, call, of).map(|it| Json::of_serialized(&it)),
    }
    .into()
}

fn verdict(
    session: &Session,
    seq: Seq,
    call: &Call,
    cached: Option<Seq>,
    pending: Option<Seq>,
) -> (Verdict, Rule, Option<String>) {
    let refused = |rule, reason: String| (Verdict::Refused, rule, Some(reason));
    let declared = session.terms.catalog.tools.get(&call.name);
    let known = declared.is_some_and(|it| it.kind != ToolKind::ServerSide)
        && agents::has_tool(session, call);
    match &call.flaw {
        Some(Flaw::BeyondMax(max)) => {
            return refused(Rule::Limit, limits::beyond_message(*max));
        }
        Some(Flaw::MissingName) => {
            return refused(
                Rule::MissingName,
                "the function call has no name".to_owned(),
            );
        }
        Some(Flaw::MalformedArgs(_) | Flaw::InvalidArgs(_)) | None if !known => {
            let reason = format!("there is no tool named {:?}", call.name);
            return refused(Rule::UnknownTool, reason);
        }
        Some(Flaw::MalformedArgs(problem)) => return refused(Rule::MalformedArgs, problem.clone()),
        Some(Flaw::InvalidArgs(problem)) => return refused(Rule::InvalidArgs, problem.clone()),
        None => {}
    }
    if let Some((rule, reason)) = phases::unavailable(session, call) {
        return refused(rule, reason);
    }
    if cached.is_some() {
        return (Verdict::Allowed, Rule::Cached, None);
    }
    if pending.is_some() {
        let reason = "an equal call has not ended; its outcome comes with that one";
        return refused(Rule::Pending, reason.to_owned());
    }
    let reason = limits::open_reached(session, session.calls.older_than(seq));
    if let Some(reason) = reason.or_else(|| limits::reached(session, &call.name)) {
        return refused(Rule::Limit, reason);
    }
    match gate::gate(session, call) {
        Gate::Closed => match open_requests::reached(session, &call.name) {
            Some(reason) => refused(Rule::Limit, reason),
            None => (Verdict::Ask, Rule::Confirm, None),
        },
        Gate::Unknown => (Verdict::AskProgram, Rule::Confirm, None),
        Gate::Open => (Verdict::Allowed, Rule::Default, None),
    }
}

pub(crate) fn policy_decided(session: &mut Session, it: &PolicyDecided) {
    let phase = match it.verdict {
        Verdict::Allowed => Phase::Permitted {
            leave: Leave::NotGated,
        },
        Verdict::Ask => Phase::Gated,
        Verdict::AskProgram => Phase::AwaitingVerdict,
        Verdict::Refused => Phase::Refused {
            reason: it.reason.clone().unwrap_or_default(),
            kind: it.rule.error_kind(),
        },
    };
    let counts = match (it.verdict, it.rule) {
        (Verdict::Refused, _) | (_, Rule::Cached) => false,
        (Verdict::Allowed | Verdict::Ask | Verdict::AskProgram, _) => true,
    };
    if counts {
        limits::count(session, it.call);
    }
    session.calls.set_phase(it.call, phase);
}

impl Rule {
    /// The error `kind` that the model receives for a refusal by this rule.
    fn error_kind(self) -> &'static str {
        match self {
            Rule::MissingName | Rule::UnknownTool => "not_found",
            Rule::MalformedArgs | Rule::InvalidArgs => "invalid_args",
            Rule::Phase | Rule::Condition => "not_available",
            Rule::Limit => "limit_reached",
            Rule::Pending => PENDING,
            Rule::Cached | Rule::Confirm | Rule::Default => "refused",
        }
    }
}

/// The response to a refused call.
pub(crate) fn refuse(
    session: &Session,
    seq: Seq,
    call: &Call,
    reason: &str,
    kind: &str,
) -> Decision {
    let repeated = repeats::ticket(session, seq, call).filter(|_| kind == PENDING);
    let response = repeated.unwrap_or_else(|| error(session, kind, reason));
    engine_response(session, seq, call, Outcome::Refused, response)
}

pub(crate) fn ready(seq: Seq) -> Decision {
    CallReady { call: seq }.into()
}

pub(crate) fn call_ready(session: &mut Session, seq: Seq) {
    let Some(call) = session.calls.get_mut(&seq) else {
        return;
    };
    let leave = match &call.phase {
        Phase::Approved { request } => Leave::Approved(*request),
        Phase::Permitted { leave } => *leave,
        Phase::Received
        | Phase::AwaitingHook
        | Phase::AwaitingVerdict
        | Phase::Refused { .. }
        | Phase::Gated
        | Phase::Asking { .. }
        | Phase::AwaitingConfirmation { .. }
        | Phase::Withdrawn
        | Phase::Unanswered { .. }
        | Phase::Denied { .. }
        | Phase::Ready { .. }
        | Phase::Running { .. }
        | Phase::AwaitingCalls { .. }
        | Phase::InDoubt { .. }
        | Phase::Paused { .. }
        | Phase::Returned { .. }
        | Phase::Retrying { .. }
        | Phase::Supplied { .. }
        | Phase::Found { .. }
        | Phase::TimedOut { .. } => return,
    };
    call.phase = Phase::Ready { leave };
}

pub(crate) fn respond_returned(
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
    recorded_response(session, seq, call, outcome, of)
}

pub(crate) fn respond_supplied(session: &Session, seq: Seq, call: &Call, of: Seq) -> Decision {
    recorded_response(session, seq, call, Outcome::Supplied, of)
}

pub(crate) fn respond_interim(
    session: &Session,
    seq: Seq,
    call: &Call,
    interim: Option<Seq>,
) -> Option<Decision> {
    interim.map(|of| recorded_response(session, seq, call, Outcome::Interim, of))
}

/// The end of a cancelled call.
///
/// An open request is withdrawn first. The model gets no response for a call that it cancelled
/// itself, and nothing is sent after a close.
pub(crate) fn cancel(session: &Session, seq: Seq, call: &Call, reason: CancelReason) -> Decision {
    if let Phase::AwaitingConfirmation { request, .. } = call.phase {
        return ConfirmationWithdrawn {
            call: seq,
            request,
            reason,
        }
        .into();
    }
    match reason {
        // `RunnerGone` and `ToolEnded` only withdraw requests and never get here.
        CancelReason::Model
        | CancelReason::SessionClosed
        | CancelReason::RunnerGone
        | CancelReason::ToolEnded
        | CancelReason::ParentEnded => CallCancelled { call: seq, reason }.into(),
        CancelReason::Operator => {
            if let Some(of) = call.cancelled_in {
                return recorded_response(session, seq, call, Outcome::Cancelled, of);
            }
            let response = error(session, "cancelled", CancelReason::Operator.in_words());
            engine_response(session, seq, call, Outcome::Cancelled, response)
        }
    }
}

pub(crate) fn call_cancelled(session: &mut Session, at: Seq, call: Seq) {
    if let Some(ended) = settle(session, at, call, Outcome::Withdrawn) {
        redelivery::forget_unanswered(session, call, &ended);
    }
}

pub(crate) fn response_issued(session: &mut Session, at: Seq, it: &ResponseIssued) {
    let (has_hook, now) = (
        session.terms.policies.hooks.before_tool_response,
        session.at,
    );
    let connects = conversation::connects(session, it.outcome, it.route);
    let scheduling = scheduling(session, it.call, it.outcome);
    let Some(call) = session.calls.get_mut(&it.call) else {
        return;
    };
    let delivery = match it.route {
        Route::ToolResponse { .. }
        | Route::Conversation { .. }
        | Route::Parked
        | Route::Connect
        | Route::Notify => Some(Delivery {
            call: it.call,
            wire_id: call.wire_id.clone(),
            name: call.name.clone(),
            outcome: it.outcome,
            route: it.route,
            will_continue: will_continue(call, it.outcome),
            scheduling,
            // Responses of tools and of the program went through the hook before they were
            // recorded. An outcome that a person stated, or a client's result, did not.
            wording: if has_hook
                && (it.response.is_some()
                    || it.outcome == Outcome::Cancelled
                    || call.claim.is_some()
                    || matches!(call.phase, Phase::Found { .. }))
            {
                Wording::AwaitingHook
            } else {
                Wording::AsIssued
            },
            acknowledges: it.outcome == Outcome::Interim && it.response.is_some(),
            connects: connects.then_some(now),
            sent: false,
        }),
        // The caller reads the response from its record.
        Route::Caller | Route::Parent => None,
    };
    if it.outcome != Outcome::Interim {
        settle(session, at, it.call, it.outcome);
    } else {
        call.told_meanwhile = true;
        // An interim response that the engine itself makes is an acknowledgement.
        call.acknowledged |= it.response.is_some();
        call.yields.retain(|yielded| Some(*yielded) != it.of);
        if let Phase::Paused { interim } = &mut call.phase
            && *interim == it.of
        {
            *interim = None;
        }
    }
    if let Some(delivery) = delivery {
        let call = delivery.call;
        redelivery::remember_response(session, at, &delivery);
        // With `Notify`, the model receives the response only if the service redelivers the call.
        if delivery.route != Route::Notify {
            session.deliveries.insert(at, delivery);
        }
        redelivery::update_ended(session, call);
    }
}

/// The value of `willContinue`. Set only for calls with several responses.
fn will_continue(call: &Call, outcome: Outcome) -> Option<bool> {
    match outcome {
        Outcome::Interim => Some(true),
        Outcome::Returned
        | Outcome::Failed
        | Outcome::Supplied
        | Outcome::Refused
        | Outcome::Denied
        | Outcome::Expired
        | Outcome::TimedOut
        | Outcome::Cancelled
        | Outcome::Unknown
        | Outcome::Withdrawn => call.told_meanwhile.then_some(false),
    }
}

/// The response with the oldest result that the model has not received yet.
pub(crate) fn respond_yielded(session: &Session, seq: Seq, call: &Call) -> Option<Decision> {
    let of = call.yields.front()?;
    Some(recorded_response(session, seq, call, Outcome::Interim, *of))
}

fn settle(session: &mut Session, at: Seq, seq: Seq, outcome: Outcome) -> Option<Call> {
    let call = session.calls.remove(&seq)?;
    if let Some(key) = call.cache_key {
        cache::set_waiting(session, seq, key, false);
    }
    cache::stopped(session, seq, call.cache_key);
    claims::settled(session, seq, &call, outcome);
    session.settled.insert(
        seq,
        Settled {
            outcome,
            attempts: call.attempts,
            at,
            made_by_program: call.made_inside(),
        },
    );
    agents::call_ended(session, seq, &call, at);
    Some(call)
}

#[cfg(test)]
#[path = "dispatcher_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "program_call_tests.rs"]
mod program_call_tests;

#[cfg(test)]
#[path = "keyed_call_tests.rs"]
mod keyed_call_tests;
