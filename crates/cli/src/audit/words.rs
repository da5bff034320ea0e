//! A call, its verdict and its end in words, the same in every form of the report.

use serde::Serialize;
use serde_json::Value;

use crate::text::{age, count};
use recount::audit::{AuditedCall, Question, QuestionEnd, Totals, Unread, UnreadSession, Verdict};
use recount::ledger::HintBy;
use recount::session::{About, Outcome, Timestamp};

/// How JSON spells a value that is one word there.
pub(super) fn word(it: &impl Serialize) -> String {
    match serde_json::to_value(it) {
        Ok(Value::String(word)) => word,
        Ok(_) | Err(_) => String::new(),
    }
}

/// A word of JSON as one of a sentence.
pub(super) fn spoken(word: &str) -> String {
    word.replace('_', " ")
}

/// By what a call was let run, or kept from it; by whom, and after how long.
pub(super) fn verdict(call: &AuditedCall) -> String {
    let rule = call.policy.as_ref().map(|it| word(&it.rule));
    let rule = rule.unwrap_or_default();
    match call.verdict {
        Verdict::AllowedByRule => format!("allowed, rule {}", spoken(&rule)),
        Verdict::RefusedByPolicy => format!("refused: {}", spoken(&rule)),
        Verdict::Approved
        | Verdict::Denied
        | Verdict::ApprovedAutomatically
        | Verdict::DeniedAutomatically
        | Verdict::Expired
        | Verdict::Withdrawn => {
            let said = spoken(call.verdict.as_str());
            match call.deciding_question() {
                Some(question) => format!("{said}{}", by_and_after(question)),
                None => said,
            }
        }
        Verdict::AllowedByProgram
        | Verdict::GateWaived
        | Verdict::Waiting
        | Verdict::RefusedByProgram
        | Verdict::AnsweredByProgram
        | Verdict::ResultReused
        | Verdict::Undecided => spoken(call.verdict.as_str()),
    }
}

fn by_and_after(question: &Question) -> String {
    let by = question.by.as_ref();
    let by = by.map_or(String::new(), |it| format!(" by {}", it.in_short()));
    let after = question.waited_us.map(waited);
    format!(
        "{by}{}",
        after.map_or(String::new(), |it| format!(", {it}"))
    )
}

/// A time that was waited, in the unit that says most.
pub(super) fn waited(us: i64) -> String {
    match us {
        ..1_000_000 => format!("{} ms", us / 1_000),
        1_000_000..120_000_000 => format!("{} s", us / 1_000_000),
        120_000_000.. => age::span(Timestamp(0), Timestamp(us)),
    }
}

/// What a person was asked.
pub(super) fn asked(question: &Question) -> &'static str {
    match question.about {
        About::Gate => "asked whether it may run",
        About::InDoubt => "asked whether it may run again, since it may have run",
        About::Tool => "asked by the tool itself",
    }
}

/// The arguments that a question was about where they are not the call's, and those that its answer
/// put in their place.
pub(super) fn asked_arguments(question: &Question, call: &AuditedCall) -> Vec<String> {
    let asked = question.args.as_str();
    let other = (asked != call.args_text()).then(|| format!("about {asked}"));
    let edited = question.edited_args.as_ref();
    let edited = edited.map(|it| format!("changed to {}", it.as_str()));
    other.into_iter().chain(edited).collect()
}

/// What the person was shown, and who had written that. Those words come last, because they could
/// say what looks like ours.
pub(super) fn shown(question: &Question) -> Option<String> {
    let by = match question.hint_by {
        HintBy::Declaration => "the tool’s declaration",
        HintBy::Tool => "the tool",
    };
    let hint = question.hint.as_ref()?;
    Some(format!("shown, written by {by}: “{hint}”"))
}

/// How a call ended, or as what it waits.
pub(super) fn outcome(call: &AuditedCall) -> String {
    let Some(end) = &call.ended else {
        return spoken(call.waits_as.unwrap_or("open"));
    };
    let outcome = spoken(&word(&end.outcome));
    match &call.reconciled {
        Some(it) => format!(
            "{outcome}, found {} by {}",
            it.found.as_str(),
            it.by.in_short()
        ),
        None => outcome,
    }
}

/// What an outcome is, for the eye.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mood {
    Good,
    Bad,
    Open,
    Plain,
}

pub(super) fn mood(call: &AuditedCall) -> Mood {
    match call.ended.as_ref().map(|it| it.outcome) {
        None | Some(Outcome::Interim) => Mood::Open,
        Some(Outcome::Returned | Outcome::Supplied) => Mood::Good,
        Some(Outcome::Failed | Outcome::TimedOut) => Mood::Bad,
        Some(Outcome::Unknown) if call.is_unknown() => Mood::Bad,
        Some(
            Outcome::Unknown
            | Outcome::Refused
            | Outcome::Denied
            | Outcome::Expired
            | Outcome::Cancelled
            | Outcome::Withdrawn,
        ) => Mood::Plain,
    }
}

/// The totals as pairs of a heading and a sentence; what there is none of is left out.
pub(super) fn totals(totals: &Totals) -> Vec<(&'static str, String)> {
    let verdicts = totals.verdicts.iter();
    let verdicts = verdicts.map(|(it, number)| format!("{number} {}", spoken(it.as_str())));
    let open = (totals.open > 0).then(|| format!("{} not ended", totals.open));
    let outcomes = totals.outcomes.iter();
    let outcomes = outcomes.map(|(it, number)| format!("{number} {}", spoken(&word(it))));
    let ends = |(it, number): (&QuestionEnd, &u64)| format!("{number} {}", spoken(it.as_str()));
    let is_superseded = |it: &(&QuestionEnd, &u64)| *it.0 == QuestionEnd::Superseded;
    let superseded = totals.answers.iter().filter(is_superseded).map(ends);
    let answers = totals.answers.iter().filter(|it| !is_superseded(it));
    let answers = answers.map(ends);
    let automatic = totals.program_answers.iter().map(ends);
    let unclear = totals.answers_not_distinguished;
    let unclear = (unclear > 0).then(|| {
        format!(
            "{} by a person or program, not distinguished",
            count(unclear, "answer")
        )
    });
    let refused = totals.refused_answers;
    let refused = (refused > 0).then(|| format!("{} refused", count(refused, "answer")));
    let edited = totals.edited;
    let edited = (edited > 0).then(|| format!("arguments of {} changed", count(edited, "call")));
    let waived = totals.verdicts.get(&Verdict::GateWaived);
    let waived = waived.map_or(String::new(), |it| format!(", {it} with the gate waived"));
    let unasked = totals.ran_without_confirmation;
    let unasked = (unasked > 0).then(|| format!("{} ran{waived}", count(unasked, "call")));
    let unknown = totals.unknown_to_this_day;
    let unknown = (unknown > 0).then(|| count(unknown, "call"));
    [
        ("verdicts", joined(verdicts)),
        ("outcomes", joined(outcomes.chain(open))),
        (
            "people were asked",
            joined(answers.chain(unclear).chain(refused).chain(edited)),
        ),
        ("questions asked anew", joined(superseded)),
        ("answered by a program, without a person", joined(automatic)),
        ("without confirmation", joined(unasked)),
        ("unknown to this day", joined(unknown)),
    ]
    .into_iter()
    .filter(|(_, sentence)| !sentence.is_empty())
    .collect()
}

/// How many sessions could not be told, and why.
pub(super) fn unread(sessions: &[UnreadSession]) -> Vec<String> {
    let whys = [
        Unread::KeyNotGiven,
        Unread::KeyMissing,
        Unread::Erased,
        Unread::Unreadable,
    ];
    let counted = whys.map(|why| (why, sessions.iter().filter(|it| it.why == why).count()));
    let counted = counted.into_iter().filter(|(_, number)| *number > 0);
    let told = |(why, number): (Unread, usize)| {
        format!("{} not told: {}", count(number, "session"), why.in_words())
    };
    counted.map(told).collect()
}

fn joined(parts: impl IntoIterator<Item = String>) -> String {
    parts.into_iter().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_told_in_the_unit_that_says_most() {
        let told = [7_000, 1_999_999, 90_000_000, 120_000_000, 90_000_000_000].map(waited);
        assert_eq!(told, ["7 ms", "1 s", "90 s", "2 min", "25 h"]);
    }
}
