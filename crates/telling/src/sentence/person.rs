//! Sentences about the acts of approvers, requesters and operators.

use super::names::Names;
use super::phrases::clause;
use crate::text::{acted, bound_words, count};
use crate::tone::Tone;
use recount::session::{
    AnswerRefused, ApprovalGiven, ConfirmationAnswered, Finding, LeaveRevoked, OperatorCancelled,
    OutcomeFound, Paused, ResponseSupplied, Unpaused,
};

pub(super) fn confirmation_answered(it: &ConfirmationAnswered, names: &Names) -> (String, Tone) {
    let (what, tone, reason) = match &it.found {
        Some(Finding::Done(result)) => ("settled as done", Tone::Good, Some(result.as_str())),
        Some(Finding::Failed(reason)) => ("settled as failed", Tone::Bad, Some(reason.as_str())),
        None if it.confirmed => ("approved", Tone::Good, it.reason.as_deref()),
        None => ("denied", Tone::Bad, it.reason.as_deref()),
    };
    let reason = clause(reason);
    let edited = it.edited_args.as_ref();
    let edited = edited.map(|args| format!(" with {}", args.as_str()));
    let later = it.allow_for.filter(|_| it.confirmed);
    let later = later.map(|it| format!(", and later calls {}", bound_words(it)));
    let text = format!(
        "{} {what} {}{}{}{reason}",
        names.about(it.request),
        acted("by", &it.by),
        edited.unwrap_or_default(),
        later.unwrap_or_default()
    );
    (text, tone)
}

pub(super) fn leave_revoked(it: &LeaveRevoked, names: &Names) -> (String, Tone) {
    let reason = clause(it.reason.as_deref());
    let (tool, by) = (names.about(it.leave), acted("by", &it.by));
    let text = format!(
        "standing leave for {tool}, given at seq {}, revoked {by}{reason}",
        it.leave
    );
    (text, Tone::Bad)
}

pub(super) fn approval_given(it: &ApprovalGiven, names: &Names) -> (String, Tone) {
    let edited = it.edited_args.as_ref();
    let edited = edited.map(|args| format!(" with {}", args.as_str()));
    let later = it
        .allow_for
        .map(|it| format!(", and later calls {}", bound_words(it)));
    let text = format!(
        "{} approved {}{}{}, more approvals are needed{}",
        names.about(it.request),
        acted("by", &it.by),
        edited.unwrap_or_default(),
        later.unwrap_or_default(),
        clause(it.reason.as_deref()),
    );
    (text, Tone::Ask)
}

pub(super) fn answer_refused(it: &AnswerRefused, names: &Names) -> (String, Tone) {
    let why = it.refusal.replace('_', " ");
    let text = format!(
        "answer {} to {} refused: {why}",
        acted("from", &it.by),
        names.about(it.request)
    );
    (text, Tone::Bad)
}

pub(super) fn response_supplied(it: &ResponseSupplied, names: &Names) -> (String, Tone) {
    let (tool, response) = (names.call(it.call), it.response.as_str());
    let from = acted("from", &it.by);
    if it.will_continue {
        (
            format!("interim result of {tool} {from}: {response}"),
            Tone::Plain,
        )
    } else {
        (format!("result of {tool} {from}: {response}"), Tone::Good)
    }
}

pub(super) fn outcome_found(it: &OutcomeFound, names: &Names) -> (String, Tone) {
    let (tool, by) = (names.call(it.call), acted("by", &it.by));
    if it.attempt.is_some() {
        let (what, tone) = match &it.found {
            Finding::Done(result) => (result.as_str(), Tone::Good),
            Finding::Failed(reason) => (reason.as_str(), Tone::Bad),
        };
        let from = acted("from", &it.by);
        return (format!("late result of {tool} {from}: {what}"), tone);
    }
    match &it.found {
        Finding::Done(result) => (
            format!("{tool} reconciled as done {by}: {}", result.as_str()),
            Tone::Good,
        ),
        Finding::Failed(reason) => (
            format!("{tool} reconciled as failed {by}: {reason}"),
            Tone::Bad,
        ),
    }
}

pub(super) fn operator_cancelled(it: &OperatorCancelled, names: &Names) -> (String, Tone) {
    let reason = clause(it.reason.as_deref());
    let (tool, by) = (names.call(it.call), acted("by", &it.by));
    let text = format!("{tool} cancelled {by}{reason}");
    (text, Tone::Bad)
}

pub(super) fn paused(it: &Paused) -> (String, Tone) {
    let reason = clause(it.reason.as_deref());
    let taken_back = match it.not_begun.len() {
        0 => String::new(),
        starts => format!(", {} taken back", count(starts as u64, "start")),
    };
    let text = format!(
        "{} paused {}{taken_back}{reason}",
        it.scope,
        acted("by", &it.by)
    );
    (text, Tone::Bad)
}

pub(super) fn unpaused(it: &Unpaused) -> (String, Tone) {
    let reason = clause(it.reason.as_deref());
    let text = format!(
        "pause of {} ended {}{reason}",
        it.scope,
        acted("by", &it.by)
    );
    (text, Tone::Good)
}
