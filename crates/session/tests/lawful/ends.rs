//! Law 2: every call ends once, and the model always gets a response.

use std::collections::{BTreeMap, BTreeSet};

use recount_session::{
    Call, CallCancellationReceived, CancelReason, Deadline, Decision, Effect, InDoubt, Observation,
    Outcome, Phase, Route, Seq, Session, owed, step,
};

use super::Verdict;
use super::pauses;
use super::recording::{Recording, decided, observed};

/// Each call has at most one end. An ended call has either a final response or a cancellation, and
/// the fold agrees.
pub(crate) fn every_call_ends_once(recording: &Recording) -> Verdict {
    let mut ends: BTreeMap<Seq, Vec<(Seq, Outcome)>> = BTreeMap::new();
    for fact in &recording.facts {
        match decided(fact) {
            Some(Decision::ResponseIssued(it)) if it.outcome != Outcome::Interim => {
                ends.entry(it.call)
                    .or_default()
                    .push((fact.seq, it.outcome));
                if it.of.is_some() == it.response.is_some() {
                    return Err(format!("{} holds no response or two", fact.seq));
                }
            }
            Some(Decision::CallCancelled(it)) => {
                let withdrawn = (fact.seq, Outcome::Withdrawn);
                ends.entry(it.call).or_default().push(withdrawn);
            }
            _ => {}
        }
    }
    let calls = recording.calls();
    if let Some(stranger) = ends.keys().find(|call| !calls.contains_key(call)) {
        return Err(format!("{stranger} ended and is no call"));
    }
    let session = &recording.steps[recording.steps.len() - 1].1;
    for call in calls.keys() {
        let ended = ends.get(call).map(Vec::as_slice).unwrap_or_default();
        let settled = session.settled.get(call).map(|it| (it.at, it.outcome));
        let agrees = match ended {
            [] => session.calls.contains_key(call) && settled.is_none(),
            [end] => !session.calls.contains_key(call) && settled == Some(*end),
            [_, _, ..] => false,
        };
        if !agrees {
            return Err(format!(
                "call {call} ended {ended:?}, the fold says {settled:?}"
            ));
        }
    }
    Ok(())
}

/// After a close nothing is open, nothing starts, and no response or question is issued.
pub(crate) fn a_closed_session_has_nothing_open(recording: &Recording) -> Verdict {
    for (facts, session) in recording.steps.iter().filter(|(_, session)| session.closed) {
        if !session.calls.is_empty() || !owed(session).is_empty() {
            return Err(format!("open or owed after the close, at fact {facts}"));
        }
    }
    let closed = recording
        .facts
        .iter()
        .position(|fact| matches!(observed(fact), Some(Observation::SessionClosed(_))))
        .unwrap_or(recording.facts.len());
    let late = recording.facts[closed..].iter().find(|fact| {
        matches!(
            decided(fact),
            Some(
                Decision::CallStarted(_)
                    | Decision::ResponseIssued(_)
                    | Decision::ConfirmationRequested(_)
            )
        )
    });
    late.map_or(Ok(()), |fact| {
        Err(format!("{} came after the close", fact.seq))
    })
}

/// Between steps, an open call waits for something outside. That is a person, its tool, a supplied
/// result, or a runner with its tool and a free slot. It never waits for a decision that could be
/// made.
pub(crate) fn no_call_waits_for_the_engine_itself(recording: &Recording) -> Verdict {
    for (_, session) in &recording.steps {
        for (seq, call) in session.calls.iter() {
            if !waits_for_the_world(session, call) {
                return Err(format!("call {seq} waits in {:?}", call.phase));
            }
        }
    }
    Ok(())
}

fn waits_for_the_world(session: &Session, call: &Call) -> bool {
    let declared = session.terms.catalog.tools.contains_key(&call.name);
    let slots = session.terms.policies.running_max;
    let run = session.calls.values().filter(|it| it.takes_slot());
    let slot_free = slots.is_none_or(|slots| run.count() < slots as usize);
    let is_left = session.leaving.is_some() && session.connection == Some(call.epoch);
    let starts = session.runner.is_some() && !session.draining && !is_left;
    let at_client = session.terms.catalog.get(&call.name);
    let at_client = at_client.is_some_and(|it| it.kind.runs_at_client());
    let is_held = pauses::is_held(session, call);
    // A call that clients run waits for a claim, and starts with it.
    let can_run = starts && declared && slot_free && !at_client && !is_held;
    let policy = session.terms.policies.of(&call.name);
    // It waits for the result of an equal call only while that call progresses by itself.
    let progresses = |other: &Call| {
        let moves = other.runs() || matches!(other.phase, Phase::Retrying { .. });
        // Its next attempt begins when the connection that brought it is left, or by a claim.
        let is_held = matches!(other.phase, Phase::Ready { .. } | Phase::InDoubt { .. })
            && other.attempts > 0
            && (other.claim.is_some()
                || session.leaving.is_some() && session.connection == Some(other.epoch));
        let is_paused =
            matches!(other.phase, Phase::InDoubt { .. }) && pauses::is_held(session, other);
        let is_held = is_held || is_paused;
        (moves || is_held) && other.cache_key == call.cache_key
    };
    let shares = policy.cache && call.cache_key.is_some();
    let waits_for_equal = shares && session.calls.values().any(progresses);
    if call.cancel.is_some() || call.moot.is_some() || !call.yields.is_empty() {
        return false;
    }
    match call.phase {
        Phase::AwaitingConfirmation { expired, .. } => {
            let same_tool = session.terms.contract(&call.name) == call.contract;
            let runner = session.runner.map(|it| it.seq);
            let waits = call.in_place();
            // The question of a run that waits is of the tool that runs.
            let stays = waits.is_some() && session.rules >= 2;
            let is_here = waits.is_none_or(|it| runner == Some(it.runner));
            !expired && (same_tool || !declared || stays) && is_here
        }
        Phase::Running { runner, .. } => {
            let inside = call.made_by_program || call.parent.is_some();
            let waited_for = policy.background.is_none() || inside;
            let is_here = session.runner.map(|it| it.seq) == Some(runner);
            (is_here || call.held_claim().is_some()) && (waited_for || call.background.is_some())
        }
        Phase::Paused { interim } => interim.is_none(),
        Phase::Ready { .. } => !can_run || waits_for_equal,
        Phase::AwaitingCalls { open, .. } => open > 0 || !can_run,
        Phase::InDoubt { .. } => match policy.in_doubt {
            InDoubt::Retry => !can_run || waits_for_equal,
            // There is no question about an undeclared tool.
            InDoubt::Ask => !declared,
            InDoubt::SettleUnknown => false,
        },
        // A question of a run that ended is made when a runner declares its tool again.
        Phase::Asking { in_place: None } => !declared,
        Phase::Retrying { .. } | Phase::AwaitingHook => true,
        // Only for a gate that the program decides, as far as the declaration is known.
        Phase::AwaitingVerdict => !declared || policy.confirm && policy.gate_terms.asks_program,
        Phase::Received
        | Phase::Refused { .. }
        | Phase::Gated
        | Phase::Asking { in_place: Some(_) }
        | Phase::Withdrawn
        | Phase::Approved { .. }
        | Phase::Unanswered { .. }
        | Phase::Denied { .. }
        | Phase::Permitted { .. }
        | Phase::Returned { .. }
        | Phase::Supplied { .. }
        | Phase::Found { .. }
        | Phase::TimedOut { .. } => false,
    }
}

/// The index of calls with due decisions is complete.
///
/// An observation that changes nothing but examines every call finds no decision to make.
pub(crate) fn nothing_is_due_that_the_index_missed(recording: &Recording) -> Verdict {
    for (facts, session) in &recording.steps {
        // A cancellation of no calls, on a connection that never existed.
        let nothing = CallCancellationReceived {
            epoch: Seq(0),
            ids: Vec::new(),
        };
        let looked = step(session.clone(), session.at, nothing.into());
        let looked = looked.map_err(|endless| endless.to_string())?;
        if let [_, due, ..] = looked.facts.as_slice() {
            return Err(format!("{due:?} was due after {facts} facts"));
        }
    }
    Ok(())
}

/// A call ends without a response only if the model cancelled it on the live connection, or the
/// session closed.
pub(crate) fn call_without_response_was_cancelled(recording: &Recording) -> Verdict {
    let calls = recording.calls();
    let mut taken_back: BTreeSet<Seq> = BTreeSet::new();
    let (mut live, mut closed) = (None, false);
    for fact in &recording.facts {
        match observed(fact) {
            Some(Observation::Connected(_)) => live = Some(fact.seq),
            Some(Observation::Disconnected(it)) if live == Some(it.epoch) => live = None,
            Some(Observation::SessionClosed(_)) => closed = true,
            Some(Observation::CallCancellationReceived(it)) if live == Some(it.epoch) => {
                taken_back.extend(
                    calls
                        .keys()
                        .filter(|call| recording.names(**call, it.epoch, &it.ids)),
                );
            }
            _ => {}
        }
        let Some(Decision::CallCancelled(it)) = decided(fact) else {
            continue;
        };
        let by_model = taken_back.contains(&it.call);
        let fine = match it.reason {
            CancelReason::Model => by_model,
            CancelReason::SessionClosed => closed,
            CancelReason::ParentEnded => calls[&it.call].parent.is_some(),
            CancelReason::Operator | CancelReason::RunnerGone | CancelReason::ToolEnded => false,
        };
        if !fine {
            return Err(format!("{} left the model without a response", fact.seq));
        }
    }
    Ok(())
}

/// After the model cancelled a call, no response is sent to its id. This holds for open calls, and
/// for ended calls with an unsent response. A response that is still owed is sent as conversation.
pub(crate) fn no_response_is_sent_to_a_cancelled_id(recording: &Recording) -> Verdict {
    let mut disowned = BTreeSet::new();
    let calls = recording.calls();
    for ((facts, session), batch) in recording.steps.iter().zip(recording.batches()) {
        if let Some(Observation::CallCancellationReceived(it)) = observed(&batch[0]) {
            let named = |call: &&Seq| recording.names(**call, it.epoch, &it.ids);
            let was_live = session.connection == Some(it.epoch);
            let before = calls.keys().filter(|call| **call < batch[0].seq);
            disowned.extend(before.filter(named).filter(|_| was_live).copied());
        }
        for effect in owed(session) {
            if let Effect::SendResponse {
                call,
                response,
                as_conversation: false,
                ..
            } = effect
                && disowned.contains(&call)
            {
                return Err(format!(
                    "{response} would be sent for call {call}, at fact {facts}"
                ));
            }
        }
        let wrong_way = batch.iter().find(|fact| match decided(fact) {
            Some(Decision::ResponseIssued(it)) => {
                disowned.contains(&it.call) && matches!(it.route, Route::ToolResponse { .. })
            }
            _ => false,
        });
        if let Some(fact) = wrong_way {
            return Err(format!("{} answers an id that was taken back", fact.seq));
        }
    }
    Ok(())
}

/// An unsent response to an ended call is still sent after the model cancelled the call. It goes as
/// conversation on the same connection.
pub(crate) fn ended_call_is_answered_despite_a_cancellation(recording: &Recording) -> Verdict {
    let before = recording.steps.iter().map(|(_, session)| session);
    let before = std::iter::once(&recording.start).chain(before);
    let steps = before.zip(&recording.steps).zip(recording.batches());
    for ((before, (_, after)), batch) in steps {
        let Some(Observation::CallCancellationReceived(it)) = observed(&batch[0]) else {
            continue;
        };
        let (epoch, by_id) = (it.epoch, Route::ToolResponse { epoch: it.epoch });
        let unsent = before.deliveries.iter().filter(|(_, delivery)| {
            let ended = before.settled.contains_key(&delivery.call);
            ended && delivery.route == by_id && !delivery.sent
        });
        for (response, delivery) in unsent.filter(|_| before.connection == Some(epoch)) {
            let named = recording.names(delivery.call, epoch, &it.ids);
            let now = after.deliveries.get(response).map(|it| it.route);
            if named && now != Some(Route::Conversation { epoch }) {
                return Err(format!("{response} goes {now:?} after {}", batch[0].seq));
            }
        }
    }
    Ok(())
}

/// A question expires and a run times out only by its own deadline. A deadline of an older question
/// or attempt has no effect.
pub(crate) fn nothing_expires_by_another_deadline(recording: &Recording) -> Verdict {
    let mut attempts: BTreeMap<Seq, u32> = BTreeMap::new();
    for batch in recording.batches() {
        let passed = match observed(&batch[0]) {
            Some(Observation::DeadlinePassed(it)) => Some(it.deadline),
            _ => None,
        };
        for fact in batch {
            let due = match decided(fact) {
                Some(Decision::CallStarted(it)) => {
                    attempts.insert(it.call, it.attempt);
                    continue;
                }
                Some(Decision::ConfirmationExpired(it)) => Deadline::Confirmation {
                    call: it.call,
                    request: it.request,
                },
                Some(Decision::ResponseIssued(it)) if it.outcome == Outcome::TimedOut => {
                    Deadline::Run {
                        call: it.call,
                        attempt: attempts.get(&it.call).copied().unwrap_or_default(),
                    }
                }
                _ => continue,
            };
            if passed != Some(due) {
                return Err(format!("{} ends by {passed:?}", fact.seq));
            }
        }
    }
    Ok(())
}
