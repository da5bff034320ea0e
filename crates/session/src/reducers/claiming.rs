//! Claims of clients, and the admission of everything that they ask about their calls.
//!
//! A claim is admitted if and only if the rules of every start let the call start at once. So the
//! admission is here and not with the other commands. `running/claims` folds what follows.

use super::running::{claims, pausing};
use super::tracker;
use crate::admission::admit::{open_call, reconcilable};
use crate::admission::claiming::{CLAIM_BYTES_MAX, ClaimAction, ClaimCommand, ClaimRejection};
use crate::admission::command::Rejection;
use crate::calls::call::{Call, Phase};
use crate::calls::claim::{Claim, ClaimState};
use crate::json::Json;
use crate::record::decision::Decision;
use crate::record::finding::Finding;
use crate::record::observation::{
    CallClaimed, ClaimEnded, LeaseRenewed, Observation, OutcomeFound, ToolEventEmitted,
    ToolReturned, ToolYielded,
};
use crate::state::session::Session;
use crate::values::actor::Actor;
use crate::values::id::Seq;
use crate::values::time::Timestamp;

/// The rules that a reader of claims must know. An older program would start the call itself.
const RULES_OF_CLAIMS: u32 = 2;

/// True if a claim of the next attempt would start the call at once.
///
/// The rules of every start apply: a call that is asked about, paused or waits for an equal call
/// does not start.
fn may_be_claimed(session: &Session, seq: Seq, call: &Call) -> bool {
    if session.closed || !claims::is_for_clients(session, call) || call.cancel.is_some() {
        return false;
    }
    let mut claimed = call.clone();
    claimed.claim = Some(Box::new(Claim {
        at: session.head.next(),
        attempt: call.attempts.saturating_add(1),
        claim: String::new(),
        by: Actor::unverified(""),
        until: session.at,
        state: ClaimState::Held,
    }));
    let start = match call.phase {
        Phase::Ready { leave } => tracker::start_or_reuse(session, seq, &claimed, leave),
        Phase::InDoubt { leave } => tracker::resolve_doubt(session, seq, &claimed, leave),
        Phase::AwaitingCalls { leave, open } => {
            tracker::continue_agent(session, seq, &claimed, leave, open)
        }
        Phase::Received
        | Phase::AwaitingHook
        | Phase::AwaitingVerdict
        | Phase::Refused { .. }
        | Phase::Gated
        | Phase::Asking { .. }
        | Phase::AwaitingConfirmation { .. }
        | Phase::Withdrawn
        | Phase::Approved { .. }
        | Phase::Unanswered { .. }
        | Phase::Denied { .. }
        | Phase::Permitted { .. }
        | Phase::Running { .. }
        | Phase::Paused { .. }
        | Phase::Returned { .. }
        | Phase::Retrying { .. }
        | Phase::Supplied { .. }
        | Phase::Found { .. }
        | Phase::TimedOut { .. } => None,
    };
    matches!(start, Some(Decision::CallStarted(_)))
}

pub(crate) fn call_claimed(session: &mut Session, at: Seq, it: &CallClaimed) {
    let open = session.calls.get(&it.call);
    let fits = open.is_some_and(|call| {
        call.attempts.checked_add(1) == Some(it.attempt) && may_be_claimed(session, it.call, call)
    });
    if let Some(call) = session.calls.get_mut(&it.call).filter(|_| fits) {
        call.claim = Some(Box::new(Claim {
            at,
            attempt: it.attempt,
            claim: it.claim.clone(),
            by: it.by.clone(),
            until: it.until_us,
            state: ClaimState::Held,
        }));
    }
}

/// Turns a request of a client that arrives at `now` into an observation, or rejects it.
pub(crate) fn admit(
    session: &Session,
    now: Timestamp,
    it: ClaimCommand,
) -> Result<Observation, Rejection> {
    fits(&it.claim)?;
    let ClaimCommand {
        call, claim, by, ..
    } = it;
    let attempt = match it.attempt {
        Some(attempt) => attempt,
        None => usual(session, call, &it.action)?,
    };
    let held_by = |by: Option<&Actor>| held(session, call, attempt, &claim, by);
    let rules = RULES_OF_CLAIMS;
    Ok(match it.action {
        ClaimAction::Claim { until_us } => {
            claimable(session, call, attempt)?;
            let until_us = in_session_time(session, now, until_us);
            CallClaimed {
                call,
                attempt,
                claim,
                by,
                until_us,
                rules,
            }
            .into()
        }
        ClaimAction::Renew { until_us } => {
            let held = held_by(Some(&by))?;
            // A renewal never shortens a lease, so the record has the end that is in force.
            let until_us = in_session_time(session, now, until_us).max(held.until);
            LeaseRenewed {
                call,
                attempt,
                claim,
                by,
                until_us,
                rules,
            }
            .into()
        }
        ClaimAction::End { reason, not_begun } => {
            // Only the client knows that it has not begun. An operator may end any claim by its id.
            held_by(not_begun.then_some(&by))?;
            ClaimEnded {
                call,
                attempt,
                claim,
                reason,
                not_begun,
                by,
                rules,
            }
            .into()
        }
        ClaimAction::Return {
            name,
            response,
            failed,
        } => {
            let result = (name, response, failed);
            match held_by(Some(&by)) {
                Ok(_) => returned(call, attempt, result)?,
                Err(rejection) => late(session, (call, attempt, &claim), result, by, rejection)?,
            }
        }
        ClaimAction::Yield { response } => ToolYielded {
            call,
            attempt,
            runner: Some(held_by(Some(&by))?.at),
            response: object(response)?,
        }
        .into(),
        ClaimAction::Report { name, data } => {
            held_by(Some(&by))?;
            ToolEventEmitted {
                call,
                attempt,
                name,
                data,
            }
            .into()
        }
    })
}

/// The end of a lease that the caller's clock counts from `now`.
///
/// The session's time never runs backwards, so it may be ahead of a clock that was set back. The
/// lease is counted from the session's time then. Otherwise it could pass before it began, and a
/// renewal would have no effect.
fn in_session_time(session: &Session, now: Timestamp, until: Timestamp) -> Timestamp {
    let ahead = session.at.0.saturating_sub(now.0).max(0);
    Timestamp(until.0.saturating_add(ahead))
}

/// The start that a request without a number is about. For a claim it is the next one. Otherwise it
/// is the newest one, also of a call that ended with an unknown outcome.
///
/// # Errors
/// The outcome of a call that has ended otherwise.
fn usual(session: &Session, call: Seq, action: &ClaimAction) -> Result<u32, Rejection> {
    let newest = match session.lapsed.get(&call) {
        Some(lapsed) => lapsed.attempt,
        None => open_call(session, call)?.attempts,
    };
    let claims = matches!(action, ClaimAction::Claim { .. });
    Ok(newest.saturating_add(u32::from(claims)))
}

/// The end of a run as its client reports it: the tool, the response, and the reason of a failure.
type Reported = (String, Json, Option<String>);

fn returned(
    call: Seq,
    attempt: u32,
    (_, response, failed): Reported,
) -> Result<Observation, Rejection> {
    let returned = ToolReturned {
        call,
        attempt,
        failed: failed.is_some(),
        response: object(response)?,
        error_kind: failed.map(|_| "execution_failed".to_owned()),
        scheduling: None,
        ends_session: None,
    };
    Ok(returned.into())
}

/// The record of a result that came after its lease, if the outcome is still open or unknown.
/// Otherwise `rejection` counts.
fn late(
    session: &Session,
    (call, attempt, claim): (Seq, u32, &str),
    (tool, response, failed): Reported,
    by: Actor,
    rejection: Rejection,
) -> Result<Observation, Rejection> {
    if !is_late(session, call, attempt, claim, &by) {
        return Err(rejection);
    }
    if !session.calls.contains_key(&call) {
        reconcilable(session, call)?;
    }
    let found = match failed {
        Some(reason) => Finding::Failed(reason),
        None => Finding::Done(object(response)?),
    };
    let found = OutcomeFound {
        call,
        tool,
        found,
        by,
        attempt: Some(attempt),
    };
    Ok(found.into())
}

/// True if this claim has lapsed and nothing has decided the outcome since.
fn is_late(session: &Session, call: Seq, attempt: u32, id: &str, by: &Actor) -> bool {
    let open = session.calls.get(&call);
    let claim = match open {
        Some(open) => open.claim.as_deref(),
        None => session.lapsed.get(&call),
    };
    let same = claim.is_some_and(|it| it.attempt == attempt && it.claim == id && it.is_by(by));
    same && open.is_none_or(|open| claims::settles(open, attempt))
}

fn object(response: Json) -> Result<Json, Rejection> {
    if response.is_object() {
        Ok(response)
    } else {
        Err(Rejection::ResponseNotAnObject)
    }
}

/// Checks that the next start of a call can be claimed, and is this one.
fn claimable(session: &Session, call: Seq, attempt: u32) -> Result<(), Rejection> {
    let open = open_call(session, call)?;
    if let Some(Claim { by, until, .. }) = open.held_claim() {
        let (attempt, by, until) = (open.attempts, by.clone(), *until);
        let claimed = ClaimRejection::AlreadyClaimed {
            call,
            attempt,
            by,
            until,
        };
        return Err(claimed.into());
    }
    if !claims::is_for_clients(session, open) {
        let tool = open.name.clone();
        return Err(ClaimRejection::NotForClients { call, tool }.into());
    }
    if !may_be_claimed(session, call, open) {
        let phase = match pausing::holds_call(session, open) {
            true => "held by a pause",
            false => open.phase.name(),
        };
        return Err(ClaimRejection::NotReady { call, phase }.into());
    }
    let next = open.attempts.saturating_add(1);
    if attempt != next {
        let newest = open.attempts;
        let stale = ClaimRejection::StaleAttempt {
            call,
            attempt,
            newest,
        };
        return Err(stale.into());
    }
    Ok(())
}

/// Returns the held claim with this id, checked against its client if one is given.
fn held<'s>(
    session: &'s Session,
    call: Seq,
    attempt: u32,
    id: &str,
    by: Option<&Actor>,
) -> Result<&'s Claim, Rejection> {
    let open = open_call(session, call)?;
    let newest = open.attempts;
    if attempt != newest {
        let stale = ClaimRejection::StaleAttempt {
            call,
            attempt,
            newest,
        };
        return Err(stale.into());
    }
    let claim = open.claim.as_deref();
    let claim = claim.filter(|it| it.claim == id && by.is_none_or(|by| it.is_by(by)));
    let claim = claim.ok_or(ClaimRejection::NotTheHolder { call })?;
    match claim.state {
        ClaimState::Held => Ok(claim),
        ClaimState::Lapsed | ClaimState::Done => {
            Err(ClaimRejection::ClaimEnded { call, attempt }.into())
        }
    }
}

fn fits(claim: &str) -> Result<(), Rejection> {
    let problem = if claim.is_empty() {
        "it is empty"
    } else if claim.len() > CLAIM_BYTES_MAX {
        "it is longer than 200 bytes"
    } else if claim.contains(char::is_control) {
        "it contains a control character"
    } else {
        return Ok(());
    };
    Err(ClaimRejection::UnfitClaim { problem }.into())
}
