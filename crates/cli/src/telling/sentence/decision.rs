//! Sentences about decisions.

use super::names::Names;
use super::phrases::{clause, ending, way};
use crate::terminal::Tone;
use recount::session::{
    About, BackgroundSpawned, CallCancelled, CallStarted, ConfirmationExpired,
    ConfirmationReopened, ConfirmationRequested, ConfirmationWithdrawn, Decision, DeliveryChosen,
    GateWaived, OutcomeReconciled, PolicyDecided, ResponseIssued, ResultReused, RetryScheduled,
    Verdict,
};

pub(super) fn decided(decision: &Decision, names: &Names) -> (String, Tone) {
    match decision {
        Decision::PolicyDecided(it) => policy_decided(it, names),
        Decision::GateWaived(it) => gate_waived(it, names),
        Decision::ConfirmationRequested(it) => confirmation_requested(it, names),
        Decision::ConfirmationExpired(it) => confirmation_expired(it, names),
        Decision::ConfirmationWithdrawn(it) => confirmation_withdrawn(it, names),
        Decision::ConfirmationReopened(it) => confirmation_reopened(it, names),
        Decision::CallReady(it) => (format!("{} may start", names.call(it.call)), Tone::Quiet),
        Decision::ResultReused(it) => result_reused(it, names),
        Decision::BackgroundSpawned(it) => background_spawned(it, names),
        Decision::RetryScheduled(it) => retry_scheduled(it, names),
        Decision::PhaseEntered(it) => (format!("phase {} entered", it.phase), Tone::Plain),
        Decision::CallStarted(it) => call_started(it, names),
        Decision::CallCancelled(it) => call_cancelled(it, names),
        Decision::OutcomeReconciled(it) => outcome_reconciled(it, names),
        Decision::ResponseIssued(it) => response_issued(it, names),
        Decision::DeliveryChosen(it) => delivery_chosen(it, names),
    }
}

fn policy_decided(it: &PolicyDecided, names: &Names) -> (String, Tone) {
    let tool = names.call(it.call);
    match it.verdict {
        Verdict::Allowed => (format!("{tool} is allowed"), Tone::Quiet),
        Verdict::Ask => (format!("{tool} needs a person's leave"), Tone::Plain),
        Verdict::AskProgram => (format!("{tool} may need a person's leave"), Tone::Quiet),
        Verdict::Refused => {
            let reason = clause(it.reason.as_deref());
            (format!("{tool} is refused{reason}"), Tone::Bad)
        }
    }
}

fn gate_waived(it: &GateWaived, names: &Names) -> (String, Tone) {
    (
        format!("{} needs no leave: {}", names.call(it.call), it.reason),
        Tone::Bad,
    )
}

fn confirmation_requested(it: &ConfirmationRequested, names: &Names) -> (String, Tone) {
    let tool = names.call(it.call);
    let question = match (it.about, it.hint.as_deref().unwrap_or_default()) {
        (About::Gate, "") => "May it run?".to_owned(),
        (About::Tool, "") => "May it go on?".to_owned(),
        (About::Gate | About::Tool, hint) => hint.to_owned(),
        (About::InDoubt, _) => "It may have run. Run it again?".to_owned(),
    };
    (
        format!("{tool} asks: {question}  {}", names.args(it)),
        Tone::Ask,
    )
}

fn confirmation_expired(it: &ConfirmationExpired, names: &Names) -> (String, Tone) {
    (
        format!("{}: nobody answered in time", names.call(it.call)),
        Tone::Bad,
    )
}

fn confirmation_withdrawn(it: &ConfirmationWithdrawn, names: &Names) -> (String, Tone) {
    let why = it.reason.in_words();
    (
        format!("{}: no answer needed, {why}", names.call(it.call)),
        Tone::Plain,
    )
}

fn confirmation_reopened(it: &ConfirmationReopened, names: &Names) -> (String, Tone) {
    (
        format!("{} has changed and asks anew", names.call(it.question.call)),
        Tone::Ask,
    )
}

fn result_reused(it: &ResultReused, names: &Names) -> (String, Tone) {
    (
        format!("{} takes the result of an equal call", names.call(it.call)),
        Tone::Good,
    )
}

fn background_spawned(it: &BackgroundSpawned, names: &Names) -> (String, Tone) {
    (
        format!("{} runs in the background", names.call(it.call)),
        Tone::Quiet,
    )
}

fn retry_scheduled(it: &RetryScheduled, names: &Names) -> (String, Tone) {
    (
        format!(
            "{} will be started again, attempt {}",
            names.call(it.call),
            it.attempt
        ),
        Tone::Plain,
    )
}

fn call_started(it: &CallStarted, names: &Names) -> (String, Tone) {
    (
        format!("{} started, attempt {}", names.call(it.call), it.attempt),
        Tone::Plain,
    )
}

fn call_cancelled(it: &CallCancelled, names: &Names) -> (String, Tone) {
    let why = it.reason.in_words();
    (
        format!("{} cancelled: {why}", names.call(it.call)),
        Tone::Bad,
    )
}

fn outcome_reconciled(it: &OutcomeReconciled, names: &Names) -> (String, Tone) {
    let (tool, way) = (names.call(it.call), way(it.route));
    (
        format!("{tool}: what became of it is known ({way})"),
        Tone::Plain,
    )
}

fn response_issued(it: &ResponseIssued, names: &Names) -> (String, Tone) {
    let (tool, way) = (names.call(it.call), way(it.route));
    match ending(it.outcome) {
        Some(ending) => (format!("{tool} ends: {ending} ({way})"), Tone::Plain),
        None => (format!("{tool} goes on ({way})"), Tone::Plain),
    }
}

fn delivery_chosen(it: &DeliveryChosen, names: &Names) -> (String, Tone) {
    (
        format!(
            "answer for {} ({})",
            names.about(it.response),
            way(it.route)
        ),
        Tone::Plain,
    )
}
