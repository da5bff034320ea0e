//! The coverage of the generated histories, and the coverage they must have.
//!
//! Counted are events, outcomes, phases, refusals, and interleavings of questions with other
//! events.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use recount_session::{
    CancelReason, Command, Deadline, Decision, Effect, Observation, Outcome, Phase, Rejection,
    Rule, Seq, Start, earlier_call, owed,
};

use crate::generator::wild_recordings;
use crate::lawful::pauses::is_held;
use crate::recording::{Recording, decided, observed};

/// Returns how often each event kind, rule, outcome and lasting phase occurs in this many
/// histories.
pub(crate) fn reach(histories: usize) -> BTreeMap<&'static str, usize> {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut reached = BTreeMap::new();
    for _ in 0..histories {
        let recording = wild_recordings()
            .new_tree(&mut runner)
            .expect("a history can always be made")
            .current();
        let kinds = recording.facts.iter().map(|fact| fact.event.kind());
        let ends = recording.steps.last().into_iter().flat_map(|(_, session)| {
            let outcomes = session.settled.values().map(|it| it.outcome.in_words());
            outcomes.collect::<Vec<_>>()
        });
        let phases = recording.steps.iter().flat_map(|(_, session)| {
            let phases = session.calls.values().map(|call| call.phase.name());
            phases.collect::<Vec<_>>()
        });
        let rules = recording
            .facts
            .iter()
            .filter_map(|fact| match decided(fact) {
                Some(Decision::PolicyDecided(it)) => Some(word_of(it.rule)),
                _ => None,
            });
        let steps = recording.steps.iter().zip(recording.batches());
        let not_begun = steps.filter_map(|((_, session), batch)| {
            let Some(Observation::RunnerDetached(it)) = observed(&batch[0]) else {
                return None;
            };
            let waits = |it: &Start| {
                let call = session.calls.get(&it.call);
                call.is_some_and(|it| matches!(it.phase, Phase::Ready { .. }))
            };
            it.not_begun.iter().any(waits).then_some(NOT_BEGUN)
        });
        let told_anew = recording.batches().filter_map(|batch| {
            let taken_back = matches!(
                observed(&batch[0]),
                Some(Observation::CallCancellationReceived(_))
            );
            let chosen = |it| matches!(decided(it), Some(Decision::DeliveryChosen(_)));
            (taken_back && batch.iter().any(chosen)).then_some(TOLD_ANEW)
        });
        let in_place = recording.steps.iter().filter_map(|(_, session)| {
            let mut waits = session.calls.values().filter(|it| it.in_place().is_some());
            waits.next().map(|_| WAITS_IN_PLACE)
        });
        let asked_to_end = recording.steps.iter().filter_map(|(_, session)| {
            let closing = session.closing.as_ref()?;
            let ended = session.closed && closing.of < session.head;
            let call = session.calls.get(&closing.call);
            Some(match call.filter(|it| it.agent.is_some()) {
                _ if ended => ENDED,
                Some(_) => ENDS_UNDER_AN_AGENT,
                None => ENDS_SOON,
            })
        });
        let moot = recording
            .facts
            .iter()
            .filter_map(|fact| match decided(fact) {
                Some(Decision::ConfirmationWithdrawn(it)) => match it.reason {
                    CancelReason::RunnerGone => Some(CUT_OFF_IN_PLACE),
                    CancelReason::ToolEnded => Some(WENT_ON_UNANSWERED),
                    CancelReason::ParentEnded => Some(AGENT_ENDED),
                    CancelReason::Model | CancelReason::Operator | CancelReason::SessionClosed => {
                        None
                    }
                },
                _ => None,
            });
        for word in kinds
            .chain(in_place)
            .chain(moot)
            .chain(asked_to_end)
            .chain(ends)
            .chain(phases)
            .chain(rules)
            .chain(crowded(&recording))
            .chain(not_begun)
            .chain(told_anew)
            .chain(leaves(&recording))
            .chain(refusals(&recording))
            .chain(later(&recording))
            .chain(interleavings(&recording))
            .chain(pauses(&recording))
            .chain(acknowledged(&recording))
            .chain(unanswered(&recording))
        {
            *reached.entry(word).or_default() += 1;
        }
    }
    reached
}

/// The words that the histories must reach.
pub(crate) const TO_REACH: &[&str] = &concat_kinds();

const LASTING: [&str; 18] = [
    "awaiting_calls",
    "retrying",
    "awaiting_verdict",
    "awaiting_confirmation",
    "ready",
    "running",
    "in_doubt",
    "paused",
    "the tool returned",
    "the tool failed",
    "its result was supplied",
    "the policies refused it",
    "a person denied it",
    "nobody answered in time",
    "its time was up",
    "an operator cancelled it",
    "it was cut off and its outcome is unknown",
    "it was withdrawn",
];

/// A call that no person answered in time runs, and one that was already taken back does not.
const RUNS_UNANSWERED: &str = "runs without an answer";
const TAKEN_BACK_UNANSWERED: &str = "taken back before it could run without an answer";

fn unanswered(recording: &Recording) -> Vec<&'static str> {
    let mut met = Vec::new();
    let mut allowing = BTreeSet::new();
    for fact in &recording.facts {
        let Some(decision) = decided(fact) else {
            continue;
        };
        if decision
            .question()
            .is_some_and(|it| !it.on_expiry.is_deny())
        {
            allowing.insert(fact.seq);
        }
        if let Decision::ConfirmationExpired(it) = decision
            && allowing.contains(&it.request)
        {
            met.push(if it.goes_on {
                RUNS_UNANSWERED
            } else {
                TAKEN_BACK_UNANSWERED
            });
        }
    }
    met
}

/// A start that did not count.
const NOT_BEGUN: &str = "its tool had not begun";

/// A response that was still unsent when its call was cancelled by the model.
const TOLD_ANEW: &str = "told though it was taken back";

/// A tool asked to close the session, which is owed or has happened.
const ENDS_SOON: &str = "its session is about to end";
const ENDS_UNDER_AN_AGENT: &str = "its session is about to end by a call of an agent";
const ENDED: &str = "its session has ended";

/// The rejection codes of the commands.
fn refusals(recording: &Recording) -> Vec<&'static str> {
    let commands = recording.commands.iter();
    let refused = commands.filter_map(|(_, _, rejection)| rejection.as_ref());
    refused.map(Rejection::code).collect()
}

/// The codes with which answers, supplied results and cancellations are rejected.
const REFUSALS: [&str; 28] = [
    "too_many_answers",
    "malformed_answer",
    "already_answered",
    "request_expired",
    "request_withdrawn",
    "request_superseded",
    "unknown_request",
    "tool_gone",
    "edits_not_allowed",
    "leave_not_permitted",
    "invalid_leave",
    "unknown_leave",
    "leave_ended",
    "call_settled",
    "call_not_paused",
    "wrong_name",
    "already_supplied",
    "already_on_record",
    "already_paused",
    "not_paused",
    "unknown_tool",
    "automatic_answer",
    "unverified_answer",
    "not_an_approver",
    "is_the_requester",
    "requester_unknown",
    "already_approved",
    "other_content",
];

/// The keys that are used again, and the changed catalogs while calls wait or run.
fn later(recording: &Recording) -> Vec<&'static str> {
    let mut met = Vec::new();
    let before = std::iter::once(&recording.start).chain(recording.steps.iter().map(|it| &it.1));
    for (before, batch) in before.zip(recording.batches()) {
        match observed(&batch[0]) {
            Some(Observation::FunctionCallReceived(it)) if it.by.is_some() && it.key.is_some() => {
                met.push(match earlier_call(before, it) {
                    Ok(None) => KEYED,
                    Ok(Some(_)) => KEYED_AGAIN,
                    Err(_) => KEY_REUSED,
                });
            }
            Some(Observation::CatalogChanged(_)) if before.runner.is_some() => {
                let runs = before.calls.values().any(|call| call.runs());
                met.push(if runs { CHANGED_WHILE_RUN } else { CHANGED });
                let reopens = |it| matches!(it, Decision::ConfirmationReopened(_));
                let reopened = batch.iter().filter_map(decided).cloned().any(reopens);
                met.extend(reopened.then_some(CHANGED_AND_ASKED));
            }
            _ => {}
        }
    }
    met
}

const KEYED: &str = "a call with a key";
const KEYED_AGAIN: &str = "a repeated call with a key";
const KEY_REUSED: &str = "another call under a known key";
const CHANGED: &str = "a changed catalog";
const CHANGED_WHILE_RUN: &str = "a changed catalog while a tool ran";
const CHANGED_AND_ASKED: &str = "a question asked anew after a changed catalog";

/// The events between a question and its answer, or between the start of a tool and its result.
fn interleavings(recording: &Recording) -> Vec<&'static str> {
    let mut met = Vec::new();
    let [raced, asked, ran, lost_interest, anew, after] = INTERLEAVINGS;
    for pair in recording.commands.windows(2) {
        if let [
            (before, Command::AnswerConfirmation { request: first, .. }, None),
            (
                behind,
                Command::AnswerConfirmation {
                    request: second, ..
                },
                Some(_),
            ),
        ] = pair
            && first == second
        {
            // Between the two answers there are only the consequences of the first, and perhaps the
            // refusal of the second.
            let mut batches = recording.steps.iter().map(|(end, _)| *end);
            let step = batches.find(|end| end > before);
            met.extend(step.is_some_and(|end| *behind <= end + 1).then_some(raced));
        }
    }
    let mut dead: BTreeMap<Seq, bool> = BTreeMap::new();
    let before = std::iter::once(&recording.start).chain(recording.steps.iter().map(|it| &it.1));
    for (before, batch) in before.zip(recording.batches()) {
        let phases = || before.calls.iter().map(|(call, it)| (*call, &it.phase));
        let open = || {
            let waits = |phase: &Phase| matches!(phase, Phase::AwaitingConfirmation { .. });
            phases()
                .filter(move |(_, phase)| waits(phase))
                .map(|it| it.0)
        };
        match observed(&batch[0]) {
            Some(Observation::RunnerDetached(it)) if it.reason.ends_with("is gone") => {
                met.extend(open().map(|_| asked));
                dead.extend(open().map(|call| (call, false)));
                met.extend(phases().filter(|it| it.1.is_running()).map(|_| ran));
            }
            Some(Observation::RunnerAttached(_)) => {
                dead.values_mut().for_each(|taken_up| *taken_up = true);
                let decisions = batch.iter().filter_map(decided);
                let reopens = |it: &&Decision| matches!(it, Decision::ConfirmationReopened(_));
                met.extend(decisions.filter(reopens).map(|_| anew));
            }
            Some(Observation::CallCancellationReceived(_)) => {
                met.extend(open().map(|_| lost_interest));
            }
            Some(Observation::ConfirmationAnswered(it)) => {
                let call = before.requests.get(&it.request).map(|request| request.call);
                let outlived = call.and_then(|call| dead.get(&call)) == Some(&true);
                met.extend(outlived.then_some(after));
            }
            Some(_) | None => {}
        }
    }
    met
}

const INTERLEAVINGS: [&str; 6] = [
    "two answers at the same moment",
    "a crash while a question was open",
    "a crash while a tool ran",
    "a cancellation by the model while a question was open",
    "a question asked anew by the next process",
    "an answer after a crash and a restart",
];

/// The ends of runs that wait for an answer in place.
const WAITS_IN_PLACE: &str = "waits where it stands";
const CUT_OFF_IN_PLACE: &str = "cut off where it stood";
const WENT_ON_UNANSWERED: &str = "went on without the answer";

/// A question about a call is withdrawn when the agent that made the call ends.
const AGENT_ENDED: &str = "its agent ended while a person decided";

/// A call was refused because other requests are open: at its verdict, or after it.
const CROWDED: &str = "refused beside open requests";
const CROWDED_LATE: &str = "refused beside open requests after its verdict";

/// The refusals by a limit of open requests.
fn crowded(recording: &Recording) -> Vec<&'static str> {
    let mut judged = BTreeSet::new();
    let verdicts = recording.facts.iter().filter_map(decided);
    let mut met = Vec::new();
    for decision in verdicts {
        if let Decision::PolicyDecided(it) = decision {
            let inputs = it.inputs.as_ref().map(|it| it.to_value());
            let counted = inputs.is_some_and(|it| it.get("open_requests").is_some());
            let late = !judged.insert(it.call);
            let full = it
                .reason
                .as_ref()
                .is_some_and(|it| it.contains("wait for approval"));
            met.extend((counted && full).then_some(if late { CROWDED_LATE } else { CROWDED }));
        }
    }
    met
}

/// Calls that only a pause holds, and a start that a pause took back.
const HELD_READY: &str = "ready and held by a pause";
const HELD_IN_DOUBT: &str = "in doubt and held by a pause";
const TAKEN_BACK_BY_PAUSE: &str = "its start was taken back by a pause";

fn pauses(recording: &Recording) -> Vec<&'static str> {
    let mut met = Vec::new();
    for ((_, session), batch) in recording.steps.iter().zip(recording.batches()) {
        let runs = session.runner.is_some() && session.leaving.is_none() && !session.draining;
        for call in session
            .calls
            .values()
            .filter(|it| runs && is_held(session, it))
        {
            match call.phase {
                Phase::Ready { .. } => met.push(HELD_READY),
                Phase::InDoubt { .. } => met.push(HELD_IN_DOUBT),
                _ => {}
            }
        }
        if let Some(Observation::Paused(it)) = observed(&batch[0])
            && it
                .not_begun
                .iter()
                .any(|it| session.calls.contains_key(&it.call))
        {
            met.push(TAKEN_BACK_BY_PAUSE);
        }
    }
    met
}

/// A wait that was acknowledged after its time, and one that ended before.
const ACKNOWLEDGED_LATER: &str = "acknowledged after a time";
const ENDED_UNACKNOWLEDGED: &str = "ended before it was to be acknowledged";

fn acknowledged(recording: &Recording) -> Vec<&'static str> {
    let mut met = Vec::new();
    let before = std::iter::once(&recording.start).chain(recording.steps.iter().map(|it| &it.1));
    for (before, batch) in before.zip(recording.batches()) {
        let due = owed(before).into_iter().filter_map(|effect| match effect {
            Effect::ArmTimer {
                deadline: Deadline::Acknowledgement { call },
                ..
            } => Some(call),
            _ => None,
        });
        let due: BTreeSet<Seq> = due.collect();
        let passed = matches!(
            observed(&batch[0]),
            Some(Observation::DeadlinePassed(it))
                if matches!(it.deadline, Deadline::Acknowledgement { .. })
        );
        for decision in batch.iter().filter_map(decided) {
            if let Decision::ResponseIssued(it) = decision
                && due.contains(&it.call)
            {
                let interim = it.outcome == Outcome::Interim;
                met.extend((interim && passed).then_some(ACKNOWLEDGED_LATER));
                met.extend((!interim).then_some(ENDED_UNACKNOWLEDGED));
            }
        }
    }
    met
}

/// A leave that allowed a second call, and a leave that ended before the start of its call.
const ALLOWED_AGAIN: &str = "allowed again by the same leave";
const ENDED_BEFORE_THE_START: &str = "its leave ended before it started";

fn leaves(recording: &Recording) -> Vec<&'static str> {
    let mut met = Vec::new();
    let mut allowed = BTreeSet::new();
    for fact in &recording.facts {
        match decided(fact) {
            Some(Decision::LeaveUsed(it)) => {
                met.extend((it.nth > 1).then_some(ALLOWED_AGAIN));
                allowed.insert(it.call);
            }
            Some(Decision::CallStarted(it)) => _ = allowed.remove(&it.call),
            Some(Decision::ConfirmationRequested(it)) if allowed.remove(&it.call) => {
                met.push(ENDED_BEFORE_THE_START);
            }
            _ => {}
        }
    }
    met
}

const VERDICTS: [&str; 11] = [
    "by missing_name",
    "by unknown_tool",
    "by malformed_args",
    "by invalid_args",
    "by phase",
    "by condition",
    "by cached",
    "by pending",
    "by limit",
    "by confirm",
    "by default",
];

fn word_of(rule: Rule) -> &'static str {
    let [
        name,
        tool,
        malformed,
        invalid,
        phase,
        condition,
        cached,
        pending,
        limit,
        confirm,
        default,
    ] = VERDICTS;
    match rule {
        Rule::MissingName => name,
        Rule::UnknownTool => tool,
        Rule::MalformedArgs => malformed,
        Rule::InvalidArgs => invalid,
        Rule::Phase => phase,
        Rule::Condition => condition,
        Rule::Cached => cached,
        Rule::Pending => pending,
        Rule::Limit => limit,
        Rule::Confirm => confirm,
        Rule::Default => default,
    }
}

/// The codes with which requests of clients are rejected.
const CLIENTS: [&str; 5] = [
    "already_claimed",
    "stale_attempt",
    "not_the_holder",
    "claim_ended",
    "call_not_ready",
];

const TO_REACH_COUNT: usize = Observation::KINDS.len()
    + Decision::KINDS.len()
    + LASTING.len()
    + VERDICTS.len()
    + REFUSALS.len()
    + CLIENTS.len()
    + INTERLEAVINGS.len()
    + 26;

const fn concat_kinds() -> [&'static str; TO_REACH_COUNT] {
    let mut all = [""; TO_REACH_COUNT];
    let lists: [&[&str]; 8] = [
        &CLIENTS,
        Observation::KINDS,
        Decision::KINDS,
        &LASTING,
        &VERDICTS,
        &REFUSALS,
        &INTERLEAVINGS,
        &[
            NOT_BEGUN,
            RUNS_UNANSWERED,
            TAKEN_BACK_UNANSWERED,
            TOLD_ANEW,
            WAITS_IN_PLACE,
            CUT_OFF_IN_PLACE,
            WENT_ON_UNANSWERED,
            ENDS_SOON,
            ENDS_UNDER_AN_AGENT,
            ENDED,
            AGENT_ENDED,
            CROWDED,
            CROWDED_LATE,
            ACKNOWLEDGED_LATER,
            ENDED_UNACKNOWLEDGED,
            HELD_READY,
            HELD_IN_DOUBT,
            TAKEN_BACK_BY_PAUSE,
            ALLOWED_AGAIN,
            ENDED_BEFORE_THE_START,
            KEYED,
            KEYED_AGAIN,
            KEY_REUSED,
            CHANGED,
            CHANGED_WHILE_RUN,
            CHANGED_AND_ASKED,
        ],
    ];
    let (mut list, mut at) = (0, 0);
    while list < lists.len() {
        let mut item = 0;
        while item < lists[list].len() {
            all[at] = lists[list][item];
            (item, at) = (item + 1, at + 1);
        }
        list += 1;
    }
    all
}
