//! Sentences about decisions.

use super::names::Names;
use super::phrases::{clause, ending, told, way};
use crate::text::by_leave;
use crate::tone::Tone;
use recount::session::{
    About, BackgroundSpawned, CallCancelled, CallStarted, ConfirmationExpired,
    ConfirmationReopened, ConfirmationRequested, ConfirmationWithdrawn, Decision, DeliveryChosen,
    GateWaived, LeaveUsed, OutcomeReconciled, PolicyDecided, ResponseIssued, ResultReused,
    RetryScheduled, Verdict,
};

pub(super) fn decided(decision: &Decision, names: &Names) -> (String, Tone) {
    match decision {
        Decision::PolicyDecided(it) => policy_decided(it, names),
        Decision::GateWaived(it) => gate_waived(it, names),
        Decision::LeaveUsed(it) => leave_used(it, names),
        Decision::ConfirmationRequested(it) => confirmation_requested(it, names),
        Decision::ConfirmationExpired(it) => confirmation_expired(it, names),
        Decision::ConfirmationWithdrawn(it) => confirmation_withdrawn(it, names),
        Decision::ConfirmationReopened(it) => confirmation_reopened(it, names),
        Decision::CallReady(it) => (
            format!("{} ready to start", names.call(it.call)),
            Tone::Quiet,
        ),
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
        Verdict::Allowed => (format!("{tool} allowed"), Tone::Quiet),
        Verdict::Ask => (format!("{tool}: approval required"), Tone::Plain),
        Verdict::AskProgram => (
            format!("{tool}: the program decides if approval is required"),
            Tone::Quiet,
        ),
        Verdict::Refused => {
            let reason = clause(it.reason.as_deref());
            (format!("{tool} refused{reason}"), Tone::Bad)
        }
    }
}

fn gate_waived(it: &GateWaived, names: &Names) -> (String, Tone) {
    if let Some(request) = it.unanswered {
        let (tool, reason) = (names.call(it.call), &it.reason);
        let text = format!("{tool}: runs without an answer to seq {request}: {reason}");
        return (text, Tone::Bad);
    }
    (
        format!(
            "{}: approval not enforced: {}",
            names.call(it.call),
            it.reason
        ),
        Tone::Bad,
    )
}

fn leave_used(it: &LeaveUsed, names: &Names) -> (String, Tone) {
    let bound = it.bound();
    let leave = by_leave(names.givers(it.leave), it.nth, bound);
    let text = format!("{}: {leave} (seq {})", names.call(it.call), it.leave);
    (text, Tone::Good)
}

fn confirmation_requested(it: &ConfirmationRequested, names: &Names) -> (String, Tone) {
    let tool = names.call(it.call);
    let question = match (it.about, it.hint.as_deref().unwrap_or_default()) {
        (About::Gate, "") => "May it run?".to_owned(),
        (About::Tool, "") => "May it continue?".to_owned(),
        (About::Gate | About::Tool, hint) => hint.to_owned(),
        (About::InDoubt, _) => "It may have run. Run it again?".to_owned(),
    };
    (
        format!(
            "approval of {tool} requested: {}  {question}",
            names.args(it)
        ),
        Tone::Ask,
    )
}

fn confirmation_expired(it: &ConfirmationExpired, names: &Names) -> (String, Tone) {
    (
        format!(
            "{}: approval request expired{}",
            names.call(it.call),
            if it.goes_on {
                ", and no person allowed it"
            } else {
                ""
            }
        ),
        Tone::Bad,
    )
}

fn confirmation_withdrawn(it: &ConfirmationWithdrawn, names: &Names) -> (String, Tone) {
    let why = it.reason.in_words();
    (
        format!("{}: approval request withdrawn, {why}", names.call(it.call)),
        Tone::Plain,
    )
}

fn confirmation_reopened(it: &ConfirmationReopened, names: &Names) -> (String, Tone) {
    let tool = names.call(it.question.call);
    (
        format!("{tool} has changed, approval requested again"),
        Tone::Ask,
    )
}

fn result_reused(it: &ResultReused, names: &Names) -> (String, Tone) {
    (
        format!("{}: result of an equal call reused", names.call(it.call)),
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
            "{}: retry scheduled, attempt {}",
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
    (format!("{tool}: outcome reconciled ({way})"), Tone::Plain)
}

fn response_issued(it: &ResponseIssued, names: &Names) -> (String, Tone) {
    let tool = names.call(it.call);
    let text = match ending(it.outcome) {
        Some(ending) => format!("{tool} ended: {ending} ({})", way(it.route)),
        None => match names.wait(it) {
            Some(wait) => format!("{tool} {wait}; {}", told(it.route)),
            None => format!("interim result of {tool} ({})", way(it.route)),
        },
    };
    (text, Tone::Plain)
}

fn delivery_chosen(it: &DeliveryChosen, names: &Names) -> (String, Tone) {
    (
        format!(
            "response for {} ({})",
            names.about(it.response),
            way(it.route)
        ),
        Tone::Plain,
    )
}
