//! Sentences about what approvers, requesters and operators put on record.

use super::names::Names;
use super::phrases::clause;
use crate::terminal::Tone;
use recount::session::{
    AnswerRefused, ConfirmationAnswered, Finding, OperatorCancelled, OutcomeFound, ResponseSupplied,
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
    let text = format!(
        "{} {what} by {}{}{reason}",
        names.about(it.request),
        it.by,
        edited.unwrap_or_default()
    );
    (text, tone)
}

pub(super) fn answer_refused(it: &AnswerRefused, names: &Names) -> (String, Tone) {
    let why = it.refusal.replace('_', " ");
    let text = format!(
        "answer to {} by {} refused: {why}",
        names.about(it.request),
        it.by
    );
    (text, Tone::Bad)
}

pub(super) fn response_supplied(it: &ResponseSupplied, names: &Names) -> (String, Tone) {
    let (tool, response) = (names.call(it.call), it.response.as_str());
    if it.will_continue {
        (
            format!("news of {tool} from {}: {response}", it.by),
            Tone::Plain,
        )
    } else {
        (
            format!("{tool} answered by {}: {response}", it.by),
            Tone::Good,
        )
    }
}

pub(super) fn outcome_found(it: &OutcomeFound, names: &Names) -> (String, Tone) {
    let (tool, by) = (names.call(it.call), &it.by);
    match &it.found {
        Finding::Done(result) => (
            format!("{tool} found done by {by}: {}", result.as_str()),
            Tone::Good,
        ),
        Finding::Failed(reason) => (format!("{tool} found failed by {by}: {reason}"), Tone::Bad),
    }
}

pub(super) fn operator_cancelled(it: &OperatorCancelled, names: &Names) -> (String, Tone) {
    let reason = clause(it.reason.as_deref());
    let text = format!("{} cancelled by {}{reason}", names.call(it.call), it.by);
    (text, Tone::Bad)
}
