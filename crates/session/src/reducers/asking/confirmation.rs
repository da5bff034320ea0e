//! Confirmation requests: a person is asked, and one answer counts.
//!
//! ```text
//! Gated ─▶ confirmation_requested ─┬─ confirmation_answered yes ─▶ Approved (see `approvers`)
//!    └─▶ gate_waived               ├─ confirmation_answered no ──▶ Denied ─▶ response_issued
//!                                  ├─ confirmation_answered with a found outcome ─▶ Found
//!                                  ├─ deadline_passed ─▶ confirmation_expired (see `unanswered`)
//!                                  ├─ contract changed ─▶ confirmation_reopened ─▶ asked again
//!                                  └─ cancelled ─▶ confirmation_withdrawn
//! ```

use std::time::Duration;

use super::{approvers, open_requests, standing, unanswered};
use crate::calls::call::{Asked, Call, Phase};
use crate::calls::requests::{Answered, Request, RequestState};
use crate::json::Json;
use crate::policies::policy::Edits;
use crate::policies::response;
use crate::record::decision::{
    About, ConfirmationReopened, ConfirmationRequested, ConfirmationWithdrawn, Decision,
    GateWaived, Outcome,
};
use crate::record::finding::Finding;
use crate::record::observation::ConfirmationAnswered;
use crate::record::observation::Deadline;
use crate::record::observation::ToolAsked;
use crate::reducers::earlier::cache;
use crate::reducers::running::{claims, in_place};
use crate::reducers::telling::responses::engine_response;
use crate::reducers::telling::responses::error;
use crate::reducers::telling::responses::recorded_response;
use crate::state::effect::Effect;
use crate::state::session::Session;
use crate::state::standing::permits_leave;
use crate::values::id::Seq;
use crate::values::object::ObjectHash;

/// Asks a person, unless gates are not enforced or a standing leave allows the call. A gate whose
/// answers have terms is never waived. Refuses the call if a limit of open requests is reached.
pub(crate) fn ask(session: &Session, seq: Seq, call: &Call) -> Option<Decision> {
    let gates = &session.terms.gates;
    let policy = session.terms.policies.of(&call.name);
    if session.terms.waive(policy) {
        let reason = gates.reason.clone().unwrap_or_default();
        let waived = GateWaived {
            call: seq,
            reason,
            unanswered: None,
        };
        return Some(waived.into());
    }
    if let Some(used) = standing::covers(session, seq, call) {
        return Some(used.into());
    }
    let about = question(call);
    if about == About::Gate
        && let Some(refused) = open_requests::refuse(session, seq, call)
    {
        return Some(refused);
    }
    request(session, seq, call, about)
}

/// The subject of a request about a call. A call that was started may have run, so it is in doubt.
fn question(call: &Call) -> About {
    if call.begun() > 0 {
        About::InDoubt
    } else {
        About::Gate
    }
}

/// Requests a confirmation. Returns `None` while no runner declares the tool.
pub(crate) fn request(session: &Session, seq: Seq, call: &Call, about: About) -> Option<Decision> {
    ask_about(session, seq, call, about).map(Decision::from)
}

/// The confirmation request, with the terms of the tool in force.
fn ask_about(
    session: &Session,
    seq: Seq,
    call: &Call,
    about: About,
) -> Option<ConfirmationRequested> {
    let policy = session.terms.policies.of(&call.name);
    // A request about a doubt has no payload, because nothing may be added to a call that may have
    // run.
    let gate = policy.confirm && about == About::Gate;
    let waits = call.in_place().map(|it| &it.question);
    let own = waits.or(call.asked.as_deref());
    let own = own.filter(|_| about == About::Tool);
    let (hint, expires_after) = if let Some(own) = own {
        let expires_after = own.expires_after_ms.map(Duration::from_millis);
        (Some(own.hint.clone()), expires_after)
    } else if policy.confirm {
        (
            policy.confirm_message.clone(),
            policy.gate_terms.expires_after,
        )
    } else {
        (None, None)
    };
    let expires_at_us = expires_after.map(|it| session.at.after(it));
    let question = ConfirmationRequested {
        call: seq,
        about,
        hint,
        args_sha256: ObjectHash::of(call.args.as_str().as_bytes()),
        contract: session.terms.contract(&call.name)?,
        declaration: session.terms.declaration(&call.name)?,
        expires_at_us,
        on_expiry: unanswered::term(policy, about),
        payload_schema: match own {
            Some(own) => own.payload_schema.clone(),
            None => policy
                .gate_terms
                .payload
                .as_ref()
                .filter(|_| gate)
                .map(Json::of),
        },
        asked: own.map(|own| own.at),
        needs: approvers::needs(session, call, about),
        may_allow_for_session: about == About::Gate && permits_leave(policy),
    };
    Some(question)
}

/// Folds a question that a tool asks itself.
///
/// The tool ends its run with the question, or waits for the answer. The question is no gate, so it
/// cannot be waived.
pub(crate) fn tool_asked(session: &mut Session, at: Seq, it: &ToolAsked) {
    // A client asks people itself: a question of its tool would have no process to continue in.
    if claims::runs_at_client(session, it.call) {
        return;
    }
    if it.in_place {
        return in_place::asked(session, at, it);
    }
    if let Some(call) = in_place::reporting(session, it.call, it.attempt) {
        call.asked = Some(Box::new(Asked::of(at, it)));
        call.phase = Phase::Asking { in_place: None };
    }
}

pub(crate) fn requested(session: &mut Session, seq: Seq, it: &ConfirmationRequested) {
    let at = session.at;
    let call = session.calls.get(&it.call);
    // A call that waits inside its run still produces the result that equal calls wait for.
    let stops = call.filter(|call| call.in_place().is_none());
    let key = stops.and_then(|call| call.cache_key);
    cache::stopped(session, it.call, key);
    // An answer inside a run permits no other one, so the contract stays that of the leave.
    let call = session.calls.get(&it.call);
    let may_permit = !call.is_some_and(|call| in_place::keeps_question(session, call));
    if let Some(call) = session.calls.get_mut(&it.call) {
        if may_permit && call.contract != Some(it.contract) {
            // An answer to a request with another contract may not fit this one.
            call.gate_passed = None;
            call.contract = Some(it.contract);
        }
        call.since = at;
        // A question that replaces an open one continues its wait.
        if !matches!(call.phase, Phase::AwaitingConfirmation { .. }) {
            call.unacknowledged_since = Some(at);
        }
        call.phase = Phase::AwaitingConfirmation {
            request: seq,
            about: it.about,
            expires_at: it.expires_at_us,
            on_expiry: it.on_expiry,
            expired: false,
            in_place: call.take_in_place(),
        };
    }
    let request = Request::asked(it);
    session.requests.insert(seq, request);
}

/// The next decision about an open request: it expires, or is replaced because the contract
/// changed.
///
/// The question of a run that waits for the answer is of the tool that runs, which has not changed.
pub(crate) fn wait(
    session: &Session,
    seq: Seq,
    call: &Call,
    request: Seq,
    expired: bool,
) -> Option<Decision> {
    if expired {
        return Some(unanswered::expire(seq, call, request));
    }
    if in_place::keeps_question(session, call) {
        return None;
    }
    reopen(session, seq, call, request)
}

/// Asks again if the contract in force is not the one that was asked about.
///
/// A tool that is no longer declared has no contract. Its request waits until a runner declares the
/// tool again.
pub(crate) fn reopen(session: &Session, seq: Seq, call: &Call, request: Seq) -> Option<Decision> {
    let contract_before = call.contract?;
    if session.terms.contract(&call.name)? == contract_before {
        return None;
    }
    // An open request keeps its subject. A call that returns to a person after a start gets another
    // subject.
    let own = call.asked.as_ref().and_then(|own| own.answered);
    let about = if let Phase::AwaitingConfirmation { about, .. } = call.phase {
        about
    } else if own == Some(request) && matches!(call.phase, Phase::Ready { .. }) {
        About::Tool
    } else {
        question(call)
    };
    let question = ask_about(session, seq, call, about)?;
    let reopened = ConfirmationReopened {
        request,
        contract_before,
        question,
    };
    Some(reopened.into())
}

pub(crate) fn reopened(session: &mut Session, seq: Seq, it: &ConfirmationReopened) {
    set_request(session, it.request, RequestState::Superseded { by: seq });
    requested(session, seq, &it.question);
}

pub(crate) fn answered(session: &mut Session, at: Seq, it: &ConfirmationAnswered) {
    let open = session.requests.get(&it.request);
    let open = open.filter(|open| open.state == RequestState::Open && open.is_decided_by(it));
    let Some(Request {
        call: seq, asking, ..
    }) = open.cloned()
    else {
        return;
    };
    let answer = Answered {
        at,
        confirmed: it.confirmed,
        found: it.found.as_ref().map(Finding::found_as),
        by: it.by.clone(),
    };
    standing::given(session, at, seq, it);
    set_request(session, it.request, RequestState::Answered(answer));
    if it.confirmed {
        session.note_approval(&it.by);
    }
    let (policies, now) = (session.terms.policies.clone(), session.at);
    let Some(call) = session.calls.get_mut(&seq) else {
        return;
    };
    // After a yes and after a no, the tool continues its run by itself.
    if in_place::resume(call, now) {
        return;
    }
    if let Phase::AwaitingConfirmation { request, about, .. } = call.phase {
        let policy = policies.of(&call.name);
        let edited = it.edited_args.as_ref();
        let edited = edited
            .filter(|_| it.confirmed && about == About::Gate && policy.gate_terms.edits.is_some());
        if let Some(args) = edited {
            call.args = args.clone();
            call.cache_key = cache::key_of(policy, call);
        }
        if let (About::Tool, true, Some(own)) = (about, it.confirmed, &mut call.asked) {
            own.answered = Some(request);
            // An answer with the terms of the gate is also an answer to the gate.
            if asking.is_some() {
                call.gate_passed = Some(request);
            }
        }
        let anew = edited.is_some() && policy.gate_terms.edits == Some(Edits::ApprovedAnew);
        let found = it.found.as_ref().filter(|_| about == About::InDoubt);
        call.phase = if anew {
            Phase::Gated
        } else if it.confirmed {
            if about == About::Gate {
                call.gate_passed = Some(request);
            }
            Phase::Approved { request }
        } else if let Some(found) = found {
            Phase::Found {
                of: at,
                failed: match found {
                    Finding::Done(_) => None,
                    Finding::Failed(reason) => Some(reason.clone()),
                },
            }
        } else {
            Phase::Denied {
                about,
                reason: it.reason.clone(),
                expired: false,
            }
        };
    }
}

pub(crate) fn answer_refused(session: &mut Session, request: Seq) {
    if let Some(request) = session.requests.get_mut(&request) {
        request.refused += 1;
    }
}

pub(crate) fn deadline_passed(session: &mut Session, seq: Seq, due: Seq) {
    if let Some(call) = session.calls.get_mut(&seq)
        && let Phase::AwaitingConfirmation {
            request, expired, ..
        } = &mut call.phase
        && *request == due
    {
        *expired = true;
    }
}

pub(crate) fn withdrawn(session: &mut Session, at: Seq, it: &ConfirmationWithdrawn) {
    set_request(
        session,
        it.request,
        RequestState::Withdrawn {
            at,
            reason: it.reason,
        },
    );
    if let Some(call) = session.calls.get_mut(&it.call)
        && call.moot.take().is_none()
    {
        call.cancel = Some(it.reason);
        call.phase = Phase::Withdrawn;
    }
}

/// The response to a call that was denied, or whose request expired.
pub(crate) fn deny(
    session: &Session,
    seq: Seq,
    call: &Call,
    about: About,
    reason: Option<&str>,
    expired: bool,
) -> Decision {
    let shape = session.terms.policies.response;
    let (outcome, response) = match (about, expired) {
        // Without permission to run again, the outcome of the first run stays unknown.
        (About::InDoubt, _) => (Outcome::Unknown, response::unknown_outcome(shape)),
        (About::Tool, true) => (
            Outcome::Expired,
            error(
                session,
                "cancelled",
                "the tool asked a person and nobody answered in time, so it did not go on",
            ),
        ),
        (About::Gate, true) => (
            Outcome::Expired,
            error(
                session,
                "cancelled",
                "the call was not approved in time and did not run",
            ),
        ),
        (About::Gate | About::Tool, false) => {
            let keeps = session
                .terms
                .policies
                .of(&call.name)
                .gate_terms
                .keeps_reason;
            let ending = match about {
                About::Tool => "the tool asked a person, who said no, so it did not go on",
                About::Gate | About::InDoubt => "the call was denied and did not run",
            };
            let message = match reason.filter(|_| !keeps) {
                Some(reason) => format!("{ending}: {reason}"),
                None => ending.to_owned(),
            };
            (Outcome::Denied, error(session, "cancelled", &message))
        }
    };
    engine_response(session, seq, call, outcome, response)
}

/// The response to a call in doubt whose outcome a person stated.
///
/// A stated result counts as supplied, whichever question it answers. A stated failure counts as
/// failed and is shaped like any other failure.
pub(crate) fn found(
    session: &Session,
    seq: Seq,
    call: &Call,
    of: Seq,
    failed: Option<&str>,
) -> Decision {
    let Some(reason) = failed else {
        return recorded_response(session, seq, call, Outcome::Supplied, of);
    };
    let response = failure(session, &call.name, reason);
    engine_response(session, seq, call, Outcome::Failed, response)
}

/// The error response for a failure that a person stated.
///
/// It contains the person's words unless the tool's policy keeps them private.
pub(crate) fn failure(session: &Session, name: &str, reason: &str) -> Json {
    let keeps = session.terms.policies.of(name).gate_terms.keeps_reason;
    let message = if keeps {
        "the call failed, as a person found out"
    } else {
        reason
    };
    error(session, "execution_failed", message)
}

pub(crate) fn owed(seq: Seq, call: &Call, effects: &mut Vec<Effect>) {
    if let Phase::AwaitingConfirmation {
        request,
        expires_at,
        expired: false,
        ..
    } = call.phase
    {
        effects.push(Effect::AskConfirmation { call: seq, request });
        if let Some(due_us) = expires_at {
            effects.push(Effect::ArmTimer {
                deadline: Deadline::Confirmation { call: seq, request },
                due_us,
            });
        }
    }
}

pub(super) fn set_request(session: &mut Session, request: Seq, state: RequestState) {
    if let Some(request) = session.requests.get_mut(&request) {
        request.state = state;
        request.asking = None;
    }
}

#[cfg(test)]
#[path = "confirmation_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "finding_tests.rs"]
#[expect(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]
mod finding_tests;
