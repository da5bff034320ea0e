//! Running calls: attempts, time limits, pauses, and calls that are in doubt.
//!
//! ```text
//! Ready ─▶ call_started ─▶ Running ─┬─ tool_returned ───▶ Returned
//!                                   ├─ tool_paused ─────▶ Paused ─ response_supplied ─▶ Supplied
//!                                   │                          └─ {will_continue} ─▶ Paused
//!                                   ├─ deadline_passed ─▶ TimedOut
//!                                   ├─ another runner ──▶ InDoubt ─▶ Running, asked, unknown
//!                                   └─ runner_detached ─▶ InDoubt, or as before the start if
//!                                                         the tool had not begun
//! ```
//!
//! `runner` folds both records of a runner. Calls that clients run start without a runner, by a
//! claim: see `running/claims`.

use super::asking::{approvers, confirmation, gate, standing};
use super::earlier::cache::{self, Alternative};
use super::ending::closing;
use super::running::attempts::{running, time_limit};
use super::running::{agents, claims, in_place, pausing, progress};
use super::telling::responses::{engine_response, error};
use super::telling::{acknowledgement, conversation};
use crate::calls::call::{Call, Leave, Phase};
use crate::calls::claim::ClaimState;
use crate::calls::settled::Supplied;
use crate::declared::catalog::ToolKind;
use crate::policies::policy::InDoubt;
use crate::policies::progress::PROGRESS_EVENT;
use crate::policies::response;
use crate::record::decision::{
    About, BackgroundSpawned, CallStarted, Decision, Outcome, ResultReused, RetryScheduled,
};
use crate::record::observation::{
    Deadline, ResponseSupplied, ToolEventEmitted, ToolPaused, ToolReturned, ToolYielded,
};
use crate::state::effect::Effect;
use crate::state::session::{Runner, Session};
use crate::values::id::Seq;
use crate::values::object::ObjectHash;

/// Starts a ready call, if a runner or a client takes it and its permission still holds.
pub(crate) fn start(session: &Session, seq: Seq, call: &Call, leave: Leave) -> Option<Decision> {
    let declared = session.terms.catalog.tools.get(&call.name)?;
    if !declared.kind.runs_at_client() {
        session.runner?;
    }
    match leave {
        Leave::Approved(request) => {
            if let Some(reopened) = confirmation::reopen(session, seq, call, request) {
                return Some(reopened);
            }
            if approvers::lacks_gate_answer(session, call, request) {
                return confirmation::ask(session, seq, call);
            }
        }
        // The terms that let the call run are part of the contract.
        Leave::Unanswered(request) => {
            if let Some(reopened) = confirmation::reopen(session, seq, call, request) {
                return Some(reopened);
            }
        }
        // The gate was declared after the verdict, so nothing permits the tool as it is now.
        Leave::NotGated if gate::gated(session, call) => {
            return confirmation::ask(session, seq, call);
        }
        // A waiver holds only while gates are waived.
        Leave::Waived if gate::gated(session, call) && !is_waived(session, call) => {
            return confirmation::ask(session, seq, call);
        }
        // A standing leave may have ended since the verdict.
        Leave::Standing(of) if gate::gated(session, call) && !standing::holds(session, of) => {
            return confirmation::ask(session, seq, call);
        }
        Leave::NotGated | Leave::Waived | Leave::Standing(_) => {}
    }
    started(session, seq, call)
}

/// True if the gate of the call's tool is waived now.
fn is_waived(session: &Session, call: &Call) -> bool {
    let policy = session.terms.policies.of(&call.name);
    session.terms.waive(policy)
}

/// Starts a ready call, or reuses the result of an equal one.
pub(crate) fn start_or_reuse(
    session: &Session,
    seq: Seq,
    call: &Call,
    leave: Leave,
) -> Option<Decision> {
    match cache::alternative(session, seq, call) {
        Some(Alternative::Reuse(reused)) => Some(reused.into()),
        Some(Alternative::Wait) => None,
        None => start(session, seq, call, leave),
    }
}

/// The next start of a call, if there is a runner with its tool and a free slot.
pub(crate) fn started(session: &Session, seq: Seq, call: &Call) -> Option<Decision> {
    if pausing::holds_call(session, call) {
        return None;
    }
    if claims::is_for_clients(session, call) {
        return claims::started(session, seq, call);
    }
    let runner = session.runner.filter(|_| !session.draining)?;
    if conversation::is_being_left(session, call) {
        return None;
    }
    session.terms.catalog.tools.get(&call.name)?;
    let slots = session.terms.policies.running_max;
    if slots.is_some_and(|slots| session.running() >= slots as usize) {
        return None;
    }
    let whole = || time_limit(session, &call.name).map(|it| session.at.after(it));
    let deadline_us = agents::deadline(session, call).or_else(whole);
    Some(
        CallStarted {
            call: seq,
            attempt: call.attempts + 1,
            runner: runner.seq,
            deadline_us,
        }
        .into(),
    )
}

pub(crate) fn call_started(session: &mut Session, it: &CallStarted) {
    if let Some(call) = session.calls.get_mut(&it.call) {
        let (Phase::Ready { leave }
        | Phase::InDoubt { leave }
        | Phase::AwaitingCalls { leave, .. }) = call.phase
        else {
            return;
        };
        let continues = matches!(call.phase, Phase::AwaitingCalls { .. });
        let out_of_doubt = matches!(call.phase, Phase::InDoubt { .. });
        call.attempts = it.attempt;
        // A claim of an earlier start has no meaning for this one.
        call.claim = call.claim.take().filter(|claim| claim.at == it.runner);
        // An agent that continues stays in the background if it was there.
        call.background = call.background.filter(|_| continues);
        call.own_scheduling = None;
        call.phase = Phase::Running {
            attempt: it.attempt,
            runner: it.runner,
            deadline: it.deadline_us,
            leave,
            out_of_doubt,
        };
        cache::started(session, it.call);
        agents::started(session, it.call);
    }
}

/// Continues an agent's run, once all calls of the turn have ended and a runner has the agent.
///
/// The permission of its start still counts, unless the contract has changed or waived gates are
/// enforced again.
pub(crate) fn continue_agent(
    session: &Session,
    seq: Seq,
    call: &Call,
    leave: Leave,
    open: u32,
) -> Option<Decision> {
    let run = call.agent.as_deref().filter(|_| open == 0)?;
    let tool = session.terms.catalog.tools.get(&call.name)?;
    if tool.kind != ToolKind::Agent {
        return resolve_doubt(session, seq, call, leave);
    }
    // A standing leave may have ended before the first start began.
    let lost = match leave {
        Leave::Waived => !is_waived(session, call),
        Leave::Standing(_) => call.attempts == 0,
        Leave::Approved(_) | Leave::Unanswered(_) | Leave::NotGated => false,
    };
    if session.terms.contract(&call.name) == run.contract && !lost {
        return started(session, seq, call);
    }
    start(session, seq, call, leave)
}

/// Moves a call that has just started to the background, if its tool's policy says so.
pub(crate) fn spawn(session: &Session, seq: Seq, call: &Call) -> Option<Decision> {
    let background = session.terms.policies.of(&call.name).background?;
    let spawned = BackgroundSpawned {
        call: seq,
        attempt: call.attempts,
        scheduling: background.scheduling,
    };
    (call.background.is_none() && !call.made_inside()).then(|| spawned.into())
}

pub(crate) fn background_spawned(session: &mut Session, it: &BackgroundSpawned) {
    if let Some(call) = session.calls.get_mut(&it.call) {
        call.background = Some(it.scheduling);
    }
}

pub(crate) fn tool_yielded(session: &mut Session, seq: Seq, it: &ToolYielded) {
    if let Some(call) = session.calls.get_mut(&it.call)
        && let Some((attempt, runner)) = call.run()
        && attempt == it.attempt
        && it.runner.is_none_or(|by| by == runner)
    {
        call.yields.push_back(seq);
        agents::result_yielded(session, it.call, seq);
        progress::reported(session, it.call, it.attempt, it.runner);
    }
}

pub(crate) fn tool_emitted(session: &mut Session, it: &ToolEventEmitted) {
    if it.name == PROGRESS_EVENT {
        progress::reported(session, it.call, it.attempt, None);
    }
}

pub(crate) fn tool_returned(session: &mut Session, seq: Seq, it: &ToolReturned) {
    let now = session.at;
    let Some(call) = in_place::reporting(session, it.call, it.attempt) else {
        return;
    };
    let Phase::Running { leave, .. } = call.phase else {
        return;
    };
    agents::note_time_left(call, now);
    // These errors lie in the call itself and would occur again.
    let passing = match it.error_kind.as_deref() {
        Some("invalid_args" | "not_found" | "cancelled" | "not_available") => false,
        Some(_) | None => it.failed,
    };
    let passing = agents::failure_may_pass(call, it.error_kind.as_deref()).unwrap_or(passing);
    call.own_scheduling = it.scheduling;
    call.phase = Phase::Returned {
        of: seq,
        failed: it.failed,
        again: passing.then_some(leave),
    };
    call.set_claim_state(ClaimState::Done);
    // Few tools end the session, so the others need no copy of their name.
    let ends = it.ends_session.as_ref().map(|_| call.name.clone());
    if !it.failed {
        cache::returned(session, it.call, seq);
    }
    if let Some(tool) = ends {
        closing::close_requested(session, seq, tool, it);
    }
}

pub(crate) fn result_reused(session: &mut Session, it: &ResultReused) {
    let own = cache::scheduling_of(session, it);
    let policies = session.terms.policies.clone();
    if let Some(call) = session.calls.get_mut(&it.call) {
        // The result is scheduled as if the tool had run.
        call.own_scheduling = own;
        call.background = policies.of(&call.name).background.map(|it| it.scheduling);
        call.phase = Phase::Returned {
            of: it.of,
            failed: false,
            again: None,
        };
    }
}

/// The next run of a failed call, if its policy allows one.
///
/// Only idempotent tools and agents are retried. All runs of a call share one idempotency key, and
/// each start checks the permission again.
pub(crate) fn retry(session: &Session, seq: Seq, call: &Call) -> Option<Decision> {
    let policy = session.terms.policies.of(&call.name);
    let (retry, runs) = match agents::retry(session, call) {
        Some((retry, failures)) => (retry, failures),
        None => {
            let retry = policy.retry.filter(|_| policy.is_idempotent())?;
            (retry, call.begun())
        }
    };
    let more = runs < retry.attempts_max;
    let scheduled = RetryScheduled {
        call: seq,
        attempt: call.attempts.saturating_add(1),
        due_us: session.at.after_ms(retry.wait_ms(runs)),
    };
    more.then(|| scheduled.into())
}

pub(crate) fn retry_scheduled(session: &mut Session, it: &RetryScheduled) {
    let Some(call) = session.calls.get_mut(&it.call) else {
        return;
    };
    if let Phase::Returned {
        again: Some(leave), ..
    }
    | Phase::TimedOut { again: leave } = call.phase
    {
        call.phase = Phase::Retrying {
            attempt: it.attempt,
            due: it.due_us,
            leave,
        };
    }
}

pub(crate) fn tool_paused(session: &mut Session, seq: Seq, it: &ToolPaused) {
    let at = session.at;
    // A client cannot pause its run: its lease says how long it may be silent.
    if claims::runs_at_client(session, it.call) {
        return;
    }
    if let Some(call) = in_place::reporting(session, it.call, it.attempt) {
        call.since = at;
        call.unacknowledged_since = Some(at);
        call.phase = Phase::Paused {
            interim: it.interim.as_ref().map(|_| seq),
        };
        // A result supplied later is no result of the tool, so equal calls do not wait for it.
        let key = call.cache_key;
        cache::stopped(session, it.call, key);
    }
}

/// Folds a result from outside for a paused call.
///
/// A result with `will_continue` is one of several. The first result without it ends the call.
pub(crate) fn response_supplied(session: &mut Session, seq: Seq, it: &ResponseSupplied) {
    let Some(call) = session.calls.get_mut(&it.call) else {
        return;
    };
    if !matches!(call.phase, Phase::Paused { .. }) {
        return;
    }
    if it.will_continue {
        call.yields.push_back(seq);
        return;
    }
    call.phase = Phase::Supplied { of: seq };
    let supplied = Supplied {
        at: seq,
        response: ObjectHash::of(it.response.as_str().as_bytes()),
        by: it.by.clone(),
    };
    session.supplied.insert(it.call, supplied);
}

pub(crate) fn deadline_passed(session: &mut Session, deadline: Deadline) {
    match deadline {
        Deadline::Run { call, attempt } => {
            if let Some(call) = running(session, call, attempt)
                && let Phase::Running { leave, .. } = call.phase
            {
                call.phase = Phase::TimedOut { again: leave };
                call.set_claim_state(ClaimState::Lapsed);
            }
        }
        Deadline::Retry { call, attempt } => {
            if let Some(call) = session.calls.get_mut(&call)
                && let Phase::Retrying {
                    attempt: next,
                    leave,
                    ..
                } = call.phase
                && next == attempt
            {
                // The tool may have been declared again since. Its current rule decides whether it
                // may run again.
                call.phase = match call.agent {
                    Some(_) => Phase::AwaitingCalls { leave, open: 0 },
                    None => Phase::InDoubt { leave },
                };
            }
        }
        Deadline::Confirmation { call, request } => {
            confirmation::deadline_passed(session, call, request)
        }
        Deadline::Lease { call, attempt } => claims::lease_passed(session, call, attempt),
        Deadline::Acknowledgement { call } => acknowledgement::deadline_passed(session, call),
    }
}

/// Applies the tool's declared rule to a call that was cut off between start and result.
pub(crate) fn resolve_doubt(
    session: &Session,
    seq: Seq,
    call: &Call,
    leave: Leave,
) -> Option<Decision> {
    match session.terms.policies.of(&call.name).in_doubt {
        InDoubt::Retry => start_or_reuse(session, seq, call, leave),
        InDoubt::Ask => confirmation::request(session, seq, call, About::InDoubt),
        InDoubt::SettleUnknown => Some(engine_response(
            session,
            seq,
            call,
            Outcome::Unknown,
            response::unknown_outcome(session.terms.policies.response),
        )),
    }
}

pub(crate) fn time_out(session: &Session, seq: Seq, call: &Call) -> Decision {
    let message = match time_limit(session, &call.name) {
        Some(limit) => format!(
            "the tool did not finish within {} ms; what it did is unknown",
            limit.as_millis()
        ),
        None => "the tool did not finish in time; what it did is unknown".to_owned(),
    };
    engine_response(
        session,
        seq,
        call,
        Outcome::TimedOut,
        error(session, "timeout", &message),
    )
}

pub(crate) fn owed(session: &Session, seq: Seq, call: &Call, effects: &mut Vec<Effect>) {
    if let Some((attempt, runner)) = call.run()
        && session.runner == Some(Runner { seq: runner })
    {
        effects.push(Effect::RunTool {
            call: seq,
            attempt,
            runner,
        });
        if let Phase::Running {
            deadline: Some(due_us),
            ..
        } = call.phase
        {
            effects.push(Effect::ArmTimer {
                deadline: Deadline::Run { call: seq, attempt },
                due_us,
            });
        }
    }
    claims::owed(seq, call, effects);
    if let Phase::Retrying { attempt, due, .. } = call.phase {
        effects.push(Effect::ArmTimer {
            deadline: Deadline::Retry { call: seq, attempt },
            due_us: due,
        });
    }
}

#[cfg(test)]
#[path = "tracker_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "retry_tests.rs"]
mod retry_tests;

#[cfg(test)]
#[path = "stream_tests.rs"]
mod stream_tests;

#[cfg(test)]
#[path = "background_tests.rs"]
mod background_tests;

#[cfg(test)]
#[path = "leave_tests.rs"]
mod leave_tests;
