//! The indexes of restless and running calls.
//!
//! A call is restless while a decision may be due for it. Otherwise only an observation can move
//! it. So a decision costs what moves and not what waits. Each event updates the indexes for the
//! calls that it affects, and a few events affect all calls.

use crate::calls::call::{Call, Phase};
use crate::record::event::{Event, Fact};
use crate::record::observation::{Deadline, FunctionCallReceived, Observation};
use crate::reducers::earlier::cache;
use crate::reducers::running::in_place;
use crate::reducers::telling::acknowledgement;
use crate::state::session::Session;
use crate::values::id::Seq;

/// Updates the indexes for the calls that the fact affects.
pub(super) fn note(session: &mut Session, fact: &Fact) {
    match affected(session, fact) {
        Affected::NoCall => {}
        Affected::OneCall(seq) => {
            update_call(session, seq);
        }
        Affected::AllCalls => {
            session.restless.clear();
            session.slots_taken.clear();
            cache::wake_all(session);
            let open: Vec<Seq> = session.calls.keys().copied().collect();
            open.into_iter().for_each(|seq| update_call(session, seq));
        }
    }
}

fn update_call(session: &mut Session, seq: Seq) {
    let call = session.calls.get(&seq);
    let key = call.and_then(|call| call.cache_key);
    let may_move = call.is_some_and(|call| may_move(session, call));
    let rests = call.is_some_and(|call| rests(session, seq, call));
    if session.terms.policies.running_max.is_some() {
        if call.is_some_and(Call::takes_slot) {
            session.slots_taken.insert(seq);
        } else {
            session.slots_taken.remove(&seq);
        }
    }
    if let Some(key) = key {
        cache::set_waiting(session, seq, key, rests);
    }
    if may_move && !rests {
        session.restless.insert(seq);
    } else {
        session.restless.remove(&seq);
    }
}

/// True if the call only waits for an equal call, which will wake it.
fn rests(session: &Session, seq: Seq, call: &Call) -> bool {
    let ready = matches!(call.phase, Phase::Ready { .. });
    ready && call.cancel.is_none() && call.yields.is_empty() && cache::waits(session, seq, call)
}

/// The call that was received. For a redelivery this is the earlier call.
fn call_of(session: &Session, seq: Seq, it: &FunctionCallReceived) -> Seq {
    if session.calls.contains_key(&seq) {
        return seq;
    }
    let id = it.id.clone().map(|id| (it.epoch, id));
    id.and_then(|id| session.wire_ids.get(&id).copied())
        .unwrap_or(seq)
}

enum Affected {
    NoCall,
    OneCall(Seq),
    AllCalls,
}

fn affected(session: &Session, fact: &Fact) -> Affected {
    let observation = match &fact.event {
        Event::Decided(decision) => {
            return decision.call().map_or(Affected::NoCall, Affected::OneCall);
        }
        Event::Observed(observation) => observation,
    };
    match observation {
        Observation::FunctionCallReceived(it) => Affected::OneCall(call_of(session, fact.seq, it)),
        Observation::HookAnswered(it) => Affected::OneCall(it.call),
        Observation::ToolReturned(it) => Affected::OneCall(it.call),
        Observation::LlmAsked(it) => Affected::OneCall(it.call),
        Observation::LlmReplied(it) => Affected::OneCall(it.call),
        Observation::ToolYielded(it) => Affected::OneCall(it.call),
        Observation::ToolPaused(it) => Affected::OneCall(it.call),
        Observation::ToolAsked(it) => Affected::OneCall(it.call),
        Observation::ResponseSupplied(it) => Affected::OneCall(it.call),
        Observation::OperatorCancelled(it) => Affected::OneCall(it.call),
        Observation::CallClaimed(it) => Affected::OneCall(it.call),
        Observation::LeaseRenewed(it) => Affected::OneCall(it.call),
        Observation::ClaimEnded(it) => Affected::OneCall(it.call),
        Observation::OutcomeFound(it) => Affected::OneCall(it.call),
        Observation::DeadlinePassed(it) => Affected::OneCall(match it.deadline {
            Deadline::Run { call, .. }
            | Deadline::Confirmation { call, .. }
            | Deadline::Retry { call, .. }
            | Deadline::Lease { call, .. }
            | Deadline::Acknowledgement { call } => call,
        }),
        Observation::ConfirmationAnswered(it) => {
            let request = session.requests.get(&it.request);
            request.map_or(Affected::NoCall, |request| Affected::OneCall(request.call))
        }
        // The end of a connection that was about to be left lets its calls start.
        Observation::RunnerAttached(_)
        | Observation::CatalogChanged(_)
        | Observation::RunnerDetached(_)
        | Observation::Connected(_)
        | Observation::Disconnected(_)
        | Observation::CallCancellationReceived(_)
        // A pause may take starts back. A call that it held is restless still.
        | Observation::Paused(_) => Affected::AllCalls,
        Observation::SessionOpened(_)
        | Observation::RunnerDraining(_)
        | Observation::SwitchPlanned(_)
        | Observation::ReconnectScheduled(_)
        | Observation::ConnectFailed(_)
        | Observation::ReconnectsExhausted(_)
        | Observation::HistorySent(_)
        | Observation::GoAwayReceived(_)
        | Observation::ResumptionHandleReceived(_)
        | Observation::ApprovalGiven(_)
        | Observation::AnswerRefused(_)
        | Observation::LeaveRevoked(_)
        | Observation::ResponsesSent(_)
        | Observation::ModelOutputReceived(_)
        | Observation::TranscriptReceived(_)
        | Observation::UserTextSent(_)
        | Observation::TurnCompleted(_)
        | Observation::TurnInterrupted(_)
        | Observation::MediaCounted(_)
        | Observation::UsageReported(_)
        | Observation::FrameRejected(_)
        | Observation::ToolEventEmitted(_)
        | Observation::StateChanged(_)
        | Observation::InstructionSent(_)
        | Observation::Unpaused(_)
        | Observation::SessionClosed(_) => Affected::NoCall,
    }
}

fn may_move(session: &Session, call: &Call) -> bool {
    if call.cancel.is_some() || call.moot.is_some() || !call.yields.is_empty() {
        return true;
    }
    match &call.phase {
        Phase::AwaitingConfirmation { expired, .. } => {
            let declared = session.terms.contract(&call.name);
            let changed = declared.is_some_and(|it| call.contract != Some(it));
            let changed = changed && !in_place::keeps_question(session, call);
            *expired || changed || acknowledgement::status(session, call).is_some()
        }
        Phase::Running { .. } => {
            call.background.is_none() && session.terms.policies.of(&call.name).background.is_some()
        }
        Phase::AwaitingCalls { open, .. } => *open == 0,
        Phase::Paused { interim } => {
            interim.is_some() || acknowledgement::status(session, call).is_some()
        }
        Phase::AwaitingHook
        | Phase::AwaitingVerdict
        | Phase::Retrying { .. }
        | Phase::Withdrawn => false,
        Phase::Received
        | Phase::Refused { .. }
        | Phase::Gated
        | Phase::Approved { .. }
        | Phase::Unanswered { .. }
        | Phase::Denied { .. }
        | Phase::Permitted { .. }
        | Phase::Ready { .. }
        | Phase::InDoubt { .. }
        | Phase::Asking { .. }
        | Phase::Returned { .. }
        | Phase::Supplied { .. }
        | Phase::Found { .. }
        | Phase::TimedOut { .. } => true,
    }
}
