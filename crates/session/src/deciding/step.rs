//! The step: folds an observation, then makes and folds each due decision.
//!
//! Both halves name every event and every phase once. The rules are in
//! [`reducers`](crate::reducers).

use super::causes::Causes;
use super::restless;
use crate::calls::call::{Call, Phase};
use crate::record::decision::{About, CancelReason, Decision};
use crate::record::event::{Event, Fact};
use crate::record::observation::{Deadline, DeadlinePassed, Observation, Speaker};
use crate::reducers::asking::{approvers, confirmation, gate, hooks, standing, unanswered};
use crate::reducers::ending::{cancellation, closing, reconciliation};
use crate::reducers::running::{agents, claims, in_place, pausing};
use crate::reducers::telling::{acknowledgement, conversation, phases, redelivery, shared_state};
use crate::reducers::{claiming, dispatcher, runner, terms, tracker};
use crate::state::effect::Effect;
use crate::state::pauses::Pauses;
use crate::state::session::Session;
use crate::values::id::Seq;
use crate::values::time::Timestamp;

/// The result of one observation.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The session after the step.
    pub session: Session,
    /// The observation and the decisions that follow from it, in order.
    pub facts: Vec<Fact>,
}

/// The error of a step whose decisions do not end, because the rules contradict themselves.
///
/// It is a broken invariant and not caused by the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endless {
    /// The kind of the observation.
    pub kind: &'static str,
    /// The number of decisions before the step gave up.
    pub decisions: usize,
}

/// Folds an observation made at `at`, and every decision that follows from it.
///
/// Time never runs backwards in a session: an `at` before the last record counts as the time of the
/// last record.
///
/// # Errors
/// [`Endless`] if the rules contradict themselves.
pub fn step(
    mut session: Session,
    at: Timestamp,
    observation: Observation,
) -> Result<Step, Endless> {
    let mut facts = Vec::new();
    step_in_place(&mut session, at, observation, &mut facts)?;
    Ok(Step { session, facts })
}

/// Like [`step`], but changes the session in place and appends the facts to `facts`.
///
/// After an error both are unusable.
#[inline]
pub fn step_in_place(
    session: &mut Session,
    at: Timestamp,
    observation: Observation,
    facts: &mut Vec<Fact>,
) -> Result<(), Endless> {
    let at = at.max(session.at);
    let kind = observation.kind();
    let before = facts.len();
    let about = observation.provenance().about;
    // Facts are large, so each is pushed first and folded from there.
    facts.push(Fact {
        seq: session.head.next(),
        at,
        cause: about.filter(|cause| Seq(0) < *cause && *cause <= session.head),
        event: Event::Observed(observation),
    });
    facts
        .last()
        .into_iter()
        .for_each(|it| evolve_in_place(session, it));
    // Each open call and each delivery causes a handful of decisions at most, so a correct step
    // never reaches this bound.
    let open = session.calls.len() + session.deliveries.len() + session.terms.policies.phases.len();
    let decisions_max = 16 + 8 * open;
    let mut causes = Causes::after(session.head);
    while let Some(decision) = decide(session) {
        let decisions = facts.len() - before;
        if decisions > decisions_max {
            return Err(Endless { kind, decisions });
        }
        let (cause, seq) = (causes.of(&decision), session.head.next());
        causes.note(seq, &decision);
        facts.push(Fact {
            seq,
            at,
            cause,
            event: Event::Decided(decision),
        });
        facts
            .last()
            .into_iter()
            .for_each(|it| evolve_in_place(session, it));
    }
    Ok(())
}

/// Returns the next decision that is due, if one is.
///
/// It reads only the session, because every observation is folded before.
pub fn decide(session: &Session) -> Option<Decision> {
    phases::next(session)
        .or_else(|| {
            let due = |seq: &Seq| decide_call(session, *seq, session.calls.get(seq)?);
            if session.closed {
                session.calls.keys().find_map(due)
            } else {
                session.restless.iter().find_map(due)
            }
        })
        .or_else(|| reconciliation::next(session))
        .or_else(|| conversation::redirect(session))
}

/// Lists the effects that the engine owes now. A restarted engine performs them first.
pub fn owed(session: &Session) -> Vec<Effect> {
    let mut effects = Vec::new();
    owed_for_calls(session, &mut effects);
    hooks::owed(session, &mut effects);
    conversation::owed(session, &mut effects);
    phases::owed(session, &mut effects);
    closing::owed(session, &mut effects);
    effects
}

/// The part of [`owed`] that belongs to these calls and responses, in the same order.
#[doc(hidden)]
pub fn owed_about(session: &Session, calls: &[Seq], responses: &[Seq]) -> Vec<Effect> {
    let mut effects = Vec::new();
    let calls = calls.iter();
    let calls = calls.filter_map(|seq| Some((seq, session.calls.get(seq)?)));
    for (seq, call) in calls.clone() {
        owed_for_call(session, *seq, call, &mut effects);
    }
    let responses = responses.iter();
    let responses = responses.filter_map(|seq| Some((seq, session.deliveries.get(seq)?)));
    hooks::owed_about(session, calls, responses.clone(), &mut effects);
    conversation::owed_about(session, responses, &mut effects);
    effects
}

fn owed_for_calls(session: &Session, effects: &mut Vec<Effect>) {
    for (seq, call) in &session.calls {
        owed_for_call(session, *seq, call, effects);
    }
}

fn owed_for_call(session: &Session, seq: Seq, call: &Call, effects: &mut Vec<Effect>) {
    confirmation::owed(seq, call, effects);
    acknowledgement::owed(session, seq, call, effects);
    tracker::owed(session, seq, call, effects);
}

/// Lists the deadlines that have passed by `now` and are not on record.
///
/// The caller records them before anything else that happens at `now`. A process that was down
/// notices an expiry late, and an answer after the expiry must not count.
pub fn overdue(session: &Session, now: Timestamp) -> Vec<Observation> {
    let due = |effect| match effect {
        Effect::ArmTimer { deadline, due_us } if due_us <= now => {
            Some(DeadlinePassed { deadline, due_us })
        }
        Effect::ArmTimer { .. }
        | Effect::RunTool { .. }
        | Effect::AskHook { .. }
        | Effect::AskConfirmation { .. }
        | Effect::SendResponse { .. }
        | Effect::SendInstruction { .. }
        | Effect::CloseSession { .. }
        | Effect::Connect => None,
    };
    // Only calls have deadlines, so the deliveries need no check.
    let mut effects = Vec::new();
    owed_for_calls(session, &mut effects);
    let mut overdue: Vec<Observation> = Vec::new();
    let mut expired = None;
    for passed in effects.into_iter().filter_map(due) {
        match passed.deadline {
            Deadline::Confirmation { call, .. } => expired = Some(call),
            // The call ends or runs with its request, so there is nothing left to acknowledge.
            Deadline::Acknowledgement { call } if expired == Some(call) => continue,
            Deadline::Acknowledgement { .. }
            | Deadline::Run { .. }
            | Deadline::Retry { .. }
            | Deadline::Lease { .. } => {}
        }
        overdue.push(passed.into());
    }
    overdue
}

/// Folds one fact into the session.
pub fn evolve(mut session: Session, fact: &Fact) -> Session {
    evolve_in_place(&mut session, fact);
    session
}

/// Like [`evolve`], but changes the session in place.
pub fn evolve_in_place(session: &mut Session, fact: &Fact) {
    session.head = fact.seq;
    session.at = fact.at;
    match &fact.event {
        Event::Observed(observation) => observe(session, fact, observation),
        Event::Decided(decision) => conclude(session, fact, decision),
    }
    restless::note(session, fact);
}

fn observe(session: &mut Session, fact: &Fact, observation: &Observation) {
    // The service may have made the handle before the last responses arrived. So the handle is
    // folded before they count as arrived, and covers none of them.
    if let Observation::ResumptionHandleReceived(it) = observation {
        conversation::handle_received(session, fact.seq, it);
    }
    if let Some(epoch) = observation.provenance().heard_on {
        conversation::server_frame_received(session, epoch);
    }
    match observation {
        Observation::SessionOpened(it) => {
            session.opened_at = fact.at;
            session.agent = Some(it.agent.clone());
            session.on_behalf_of.clone_from(&it.on_behalf_of);
            session.rules = it.rules;
        }
        Observation::RunnerAttached(it) => runner::attached(session, fact.seq, it),
        Observation::RunnerDetached(it) => runner::detached(session, it),
        Observation::CatalogChanged(it) => terms::catalog_changed(session, it),
        Observation::RunnerDraining(_) => session.draining = true,
        Observation::Connected(it) => conversation::connected(session, fact.seq, it),
        Observation::Disconnected(it) => conversation::disconnected(session, it.epoch),
        Observation::SwitchPlanned(it) => conversation::switch_planned(session, it),
        Observation::ConnectFailed(it) => conversation::connect_failed(session, it),
        Observation::FunctionCallReceived(it) => dispatcher::call_received(session, fact.seq, it),
        Observation::HookAnswered(it) => hooks::answered(session, fact.seq, it),
        Observation::CallCancellationReceived(it) => {
            cancellation::cancellation_received(session, it)
        }
        Observation::ToolReturned(it) => tracker::tool_returned(session, fact.seq, it),
        Observation::LlmAsked(it) => agents::llm_asked(session, fact.seq, it),
        Observation::LlmReplied(it) => agents::llm_replied(session, fact.seq, it),
        Observation::ToolYielded(it) => tracker::tool_yielded(session, fact.seq, it),
        Observation::ToolEventEmitted(it) => tracker::tool_emitted(session, it),
        Observation::ToolPaused(it) => tracker::tool_paused(session, fact.seq, it),
        Observation::ToolAsked(it) => confirmation::tool_asked(session, fact.seq, it),
        Observation::StateChanged(it) => shared_state::changed(session, it),
        Observation::TurnCompleted(_) => {
            shared_state::turn_completed(session);
            conversation::turn_ended(session);
        }
        Observation::InstructionSent(it) => phases::instruction_sent(session, it),
        Observation::ConfirmationAnswered(it) => confirmation::answered(session, fact.seq, it),
        Observation::ApprovalGiven(it) => approvers::approval_given(session, fact.seq, it),
        Observation::AnswerRefused(it) => confirmation::answer_refused(session, it.request),
        Observation::LeaveRevoked(it) => standing::revoked(session, fact.seq, it),
        Observation::ResponseSupplied(it) => tracker::response_supplied(session, fact.seq, it),
        Observation::OutcomeFound(it) => reconciliation::outcome_found(session, fact.seq, it),
        Observation::CallClaimed(it) => claiming::call_claimed(session, fact.seq, it),
        Observation::LeaseRenewed(it) => claims::lease_renewed(session, it),
        Observation::ClaimEnded(it) => claims::claim_ended(session, it),
        Observation::ResponsesSent(it) => conversation::responses_sent(session, it),
        Observation::DeadlinePassed(it) => tracker::deadline_passed(session, it.deadline),
        Observation::OperatorCancelled(it) => {
            cancellation::operator_cancelled(session, fact.seq, it)
        }
        Observation::SessionClosed(_) => {
            session.closed = true;
            session.pauses = Pauses::default();
            // After a close nothing is sent to the model.
            session.deliveries.clear();
            redelivery::update_all_ended(session);
        }
        Observation::Paused(it) => runner::paused(session, fact.seq, it),
        Observation::Unpaused(it) => pausing::unpaused(session, it),
        Observation::UserTextSent(_) => conversation::user_spoke(session, fact.seq),
        Observation::ModelOutputReceived(_) => conversation::model_spoke(session),
        Observation::TranscriptReceived(it) => match it.speaker {
            Speaker::User => conversation::turn_began(session),
            Speaker::Model => conversation::model_spoke(session),
        },
        Observation::ReconnectScheduled(_) => conversation::reconnect_scheduled(session),
        Observation::ReconnectsExhausted(_) => session.reconnecting = false,
        Observation::ResumptionHandleReceived(_)
        | Observation::GoAwayReceived(_)
        | Observation::HistorySent(_)
        | Observation::TurnInterrupted(_)
        | Observation::MediaCounted(_)
        | Observation::UsageReported(_)
        | Observation::FrameRejected(_) => {}
    }
}

fn conclude(session: &mut Session, fact: &Fact, decision: &Decision) {
    match decision {
        Decision::PolicyDecided(it) => dispatcher::policy_decided(session, it),
        Decision::GateWaived(it) => gate::waived(session, it),
        Decision::ConfirmationRequested(it) => confirmation::requested(session, fact.seq, it),
        Decision::ConfirmationExpired(it) => unanswered::expired(session, fact.seq, it),
        Decision::ConfirmationWithdrawn(it) => confirmation::withdrawn(session, fact.seq, it),
        Decision::ConfirmationReopened(it) => confirmation::reopened(session, fact.seq, it),
        Decision::LeaveUsed(it) => standing::used(session, it),
        Decision::CallReady(it) => dispatcher::call_ready(session, it.call),
        Decision::CallStarted(it) => tracker::call_started(session, it),
        Decision::CallCancelled(it) => dispatcher::call_cancelled(session, fact.seq, it.call),
        Decision::ResponseIssued(it) => dispatcher::response_issued(session, fact.seq, it),
        Decision::OutcomeReconciled(it) => {
            reconciliation::outcome_reconciled(session, fact.seq, it);
        }
        Decision::DeliveryChosen(it) => conversation::delivery_chosen(session, it),
        Decision::ResultReused(it) => tracker::result_reused(session, it),
        Decision::BackgroundSpawned(it) => tracker::background_spawned(session, it),
        Decision::RetryScheduled(it) => tracker::retry_scheduled(session, it),
        Decision::PhaseEntered(it) => phases::entered(session, fact.seq, it),
    }
}

fn decide_call(session: &Session, seq: Seq, call: &Call) -> Option<Decision> {
    if let Some(withdrawn) = in_place::withdraw_moot(seq, call) {
        return Some(withdrawn);
    }
    let cancel = if session.closed {
        Some(CancelReason::SessionClosed)
    } else {
        call.cancel
    };
    if let Some(reason) = cancel {
        return Some(dispatcher::cancel(session, seq, call, reason));
    }
    if let Some(response) = dispatcher::respond_yielded(session, seq, call) {
        return Some(response);
    }
    match &call.phase {
        Phase::Received => Some(dispatcher::judge(session, seq, call)),
        Phase::Refused { reason, kind } => {
            Some(dispatcher::refuse(session, seq, call, reason, kind))
        }
        Phase::Gated => confirmation::ask(session, seq, call),
        Phase::Asking { .. } => confirmation::request(session, seq, call, About::Tool),
        Phase::AwaitingConfirmation {
            request, expired, ..
        } => confirmation::wait(session, seq, call, *request, *expired)
            .or_else(|| acknowledgement::acknowledge(session, seq, call)),
        Phase::Unanswered { request } => Some(unanswered::waive(seq, call, *request)),
        Phase::Approved { .. } | Phase::Permitted { .. } => Some(dispatcher::ready(seq)),
        Phase::Denied {
            about,
            reason,
            expired,
        } => Some(confirmation::deny(
            session,
            seq,
            call,
            *about,
            reason.as_deref(),
            *expired,
        )),
        Phase::Ready { leave } => tracker::start_or_reuse(session, seq, call, *leave),
        Phase::AwaitingCalls { leave, open } => {
            tracker::continue_agent(session, seq, call, *leave, *open)
        }
        Phase::InDoubt { leave } => tracker::resolve_doubt(session, seq, call, *leave),
        Phase::Paused { interim } => dispatcher::respond_interim(session, seq, call, *interim)
            .or_else(|| acknowledgement::acknowledge(session, seq, call)),
        Phase::Returned { of, failed, again } => again
            .and_then(|_| tracker::retry(session, seq, call))
            .or_else(|| {
                Some(dispatcher::respond_returned(
                    session, seq, call, *of, *failed,
                ))
            }),
        Phase::Supplied { of } => Some(dispatcher::respond_supplied(session, seq, call, *of)),
        Phase::Found { of, failed } => Some(confirmation::found(
            session,
            seq,
            call,
            *of,
            failed.as_deref(),
        )),
        // An agent has one time limit for all its turns, so it is not retried.
        Phase::TimedOut { .. } if call.agent.is_some() => {
            Some(tracker::time_out(session, seq, call))
        }
        Phase::TimedOut { .. } => tracker::retry(session, seq, call)
            .or_else(|| Some(tracker::time_out(session, seq, call))),
        Phase::Running { .. } => tracker::spawn(session, seq, call),
        // A withdrawn request ends its call through `cancel` above. A retry waits for its deadline,
        // and a hook for its answer.
        Phase::Withdrawn
        | Phase::AwaitingHook
        | Phase::AwaitingVerdict
        | Phase::Retrying { .. } => None,
    }
}

impl std::fmt::Display for Endless {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} led to {} decisions without an end",
            self.kind, self.decisions
        )
    }
}

impl std::error::Error for Endless {}
