//! The words for calls, verdicts and outcomes, the same in every report and on every page.

use serde::Serialize;
use serde_json::Value;

use recount::audit::{
    AuditedCall, EarlierApproval, Held, LeaveUse, Question, QuestionEnd, Totals, Unread,
    UnreadSession, Verdict,
};
use recount::ledger::HintBy;
use recount::session::{About, AllowFor, Outcome, Rule, Timestamp};

use crate::text::{acted, acted_in_short, age, bound_words, by_leave, count};

/// The outcomes of ended calls, as JSON spells them. `interim` is no end.
pub const OUTCOMES: [&str; 10] = [
    "returned",
    "failed",
    "supplied",
    "refused",
    "denied",
    "expired",
    "timed_out",
    "cancelled",
    "unknown",
    "withdrawn",
];

/// The outcome of an ended call with this spelling in JSON.
pub fn outcome_named(name: &str) -> Option<Outcome> {
    // The only parser of outcomes is that of the journal.
    let known = OUTCOMES.iter().find(|it| **it == name)?;
    serde_json::from_value((*known).into()).ok()
}

/// The spelling of a value that is one word in JSON.
pub fn word(it: &impl Serialize) -> String {
    match serde_json::to_value(it) {
        Ok(Value::String(word)) => word,
        Ok(_) | Err(_) => String::new(),
    }
}

/// A word of JSON as words of a sentence.
pub fn spoken(word: &str) -> String {
    word.replace('_', " ")
}

/// The words for a policy's rule.
pub fn rule(rule: Rule) -> &'static str {
    match rule {
        Rule::MissingName => "no name of a tool",
        Rule::UnknownTool => "unknown tool",
        Rule::MalformedArgs => "malformed arguments",
        Rule::InvalidArgs => "invalid arguments",
        Rule::Phase => "not in this phase",
        Rule::Condition => "condition is false",
        Rule::Cached => "equal call before",
        Rule::Pending => "equal call is open",
        Rule::Limit => "limit reached",
        Rule::Confirm => "approval required",
        Rule::Default => "no policy asked",
    }
}

/// The words for a call that runs because no person answered in time.
const UNANSWERED: &str = "allowed without an answer";

/// The words for a verdict alone.
pub fn verdict_words(verdict: Verdict) -> String {
    match verdict {
        Verdict::AllowedByRule => "allowed without approval".to_owned(),
        Verdict::GateWaived => "approval not enforced".to_owned(),
        Verdict::AllowedUnanswered => UNANSWERED.to_owned(),
        Verdict::AllowedByLeave => "allowed by a standing leave".to_owned(),
        Verdict::Waiting => "waiting for approval".to_owned(),
        Verdict::AllowedByProgram
        | Verdict::Approved
        | Verdict::Denied
        | Verdict::ApprovedAutomatically
        | Verdict::DeniedAutomatically
        | Verdict::Expired
        | Verdict::Withdrawn
        | Verdict::RefusedByPolicy
        | Verdict::RefusedByProgram
        | Verdict::AnsweredByProgram
        | Verdict::ResultReused
        | Verdict::Undecided => spoken(verdict.as_str()),
    }
}

/// The words for the end of a request for approval.
pub fn question_end(end: QuestionEnd) -> String {
    match end {
        QuestionEnd::Superseded => "replaced by a new request".to_owned(),
        QuestionEnd::AllowedUnanswered => UNANSWERED.to_owned(),
        QuestionEnd::Open
        | QuestionEnd::Approved
        | QuestionEnd::Denied
        | QuestionEnd::SettledAsDone
        | QuestionEnd::SettledAsFailed
        | QuestionEnd::Expired
        | QuestionEnd::Withdrawn => spoken(end.as_str()),
    }
}

/// The verdict about a call: the rule, or the approver and the time until the answer.
pub fn verdict(call: &AuditedCall) -> String {
    verdict_and_wait(call, ", ")
}

/// The verdict about a call as a sentence has it, such as `approved by ada after 2 min`.
pub fn decision(call: &AuditedCall) -> String {
    verdict_and_wait(call, " after ")
}

fn verdict_and_wait(call: &AuditedCall, link: &str) -> String {
    let rule = call.policy.as_ref().map_or("", |it| rule(it.rule));
    match call.verdict {
        Verdict::AllowedByRule => format!("allowed, {rule}"),
        Verdict::RefusedByPolicy => format!("refused: {rule}"),
        Verdict::Approved
        | Verdict::Denied
        | Verdict::ApprovedAutomatically
        | Verdict::DeniedAutomatically
        | Verdict::Expired
        | Verdict::AllowedUnanswered
        | Verdict::Withdrawn => {
            let said = verdict_words(call.verdict);
            match call.deciding_question() {
                Some(question) => format!("{said}{}", by_and_after(question, link)),
                None => said,
            }
        }
        Verdict::AllowedByLeave => match &call.leave {
            Some(leave) => format!("allowed {}", leave_words(leave)),
            None => verdict_words(call.verdict),
        },
        Verdict::AllowedByProgram
        | Verdict::GateWaived
        | Verdict::Waiting
        | Verdict::RefusedByProgram
        | Verdict::AnsweredByProgram
        | Verdict::ResultReused
        | Verdict::Undecided => verdict_words(call.verdict),
    }
}

/// The standing leave behind a call, such as `by standing leave of ada, 3 of 5`.
pub fn leave_words(it: &LeaveUse) -> String {
    let until = it.until.map(AllowFor::Until);
    by_leave(&it.by, it.nth, it.count.map(AllowFor::Count).or(until))
}

/// A pause that held a call, such as `held by the pause of everything by ada: the bank is down`.
pub fn held(it: &Held) -> String {
    let by = acted_in_short("by", &it.by);
    let reason = it.reason.as_ref().map(|it| format!(": {it}"));
    format!(
        "held by the pause of {} {by}{}",
        it.scope,
        reason.unwrap_or_default()
    )
}

fn by_and_after(question: &Question, link: &str) -> String {
    let by = answered_by(question);
    let after = question.waited_us.map(waited);
    format!(
        "{by}{}",
        after.map_or(String::new(), |it| format!("{link}{it}"))
    )
}

/// The people behind the end of a request, such as ` by ada and by bob`. A yes needs all of them.
pub fn answered_by(question: &Question) -> String {
    let earlier = question.approvals.iter().map(|it| &it.by);
    let earlier = earlier.filter(|_| question.end == QuestionEnd::Approved);
    let people = earlier.chain(&question.by);
    let people: Vec<String> = people.map(|it| acted_in_short("by", it)).collect();
    match people.as_slice() {
        [] => String::new(),
        people => format!(" {}", people.join(" and ")),
    }
}

/// An approval that counts and did not decide alone, such as `approved before by ada (os_user)`.
pub fn approved_before(it: &EarlierApproval) -> String {
    let by = acted("by", &it.by);
    let reason = it.reason.as_ref().map(|it| format!(": {it}"));
    let at = age::moment(it.at);
    let later = it
        .allow_for
        .map(|it| format!(", and later calls {}", bound_words(it)));
    let (later, reason) = (later.unwrap_or_default(), reason.unwrap_or_default());
    format!("approved before {by} {at}{later}{reason}")
}

/// The time until an answer, in the unit that says most.
pub fn waited(us: i64) -> String {
    match us {
        ..1_000_000 => format!("{} ms", us / 1_000),
        1_000_000..120_000_000 => format!("{} s", us / 1_000_000),
        120_000_000.. => age::span(Timestamp(0), Timestamp(us)),
    }
}

/// The subject of a request.
pub fn asked(question: &Question) -> &'static str {
    match question.about {
        About::Gate => "approval requested",
        About::InDoubt => "approval requested to run it again, because it may have run",
        About::Tool => "approval requested by the tool itself",
    }
}

/// The arguments of a request if they differ from the call's, and those that the answer changed.
pub fn asked_arguments(question: &Question, call: &AuditedCall) -> Vec<String> {
    let asked = question.args.as_str();
    let other = (asked != call.args_text()).then(|| format!("for {asked}"));
    let edited = question.edited_args.as_ref();
    let edited = edited.map(|it| format!("changed to {}", it.as_str()));
    other.into_iter().chain(edited).collect()
}

/// The text that the approver was shown, and its author.
///
/// The text comes last in a line, because it could look like words of this report.
pub fn shown(question: &Question) -> Option<String> {
    let by = match question.hint_by {
        HintBy::Declaration => "the tool’s declaration",
        HintBy::Tool => "the tool",
    };
    let hint = question.hint.as_ref()?;
    Some(format!("text shown, from {by}: “{hint}”"))
}

/// The state of an open call with this word, as people say it.
pub fn state(word: &str) -> String {
    match word {
        "awaiting_confirmation" => "waiting for approval".to_owned(),
        "paused" => "waiting for its result from outside".to_owned(),
        word => spoken(word),
    }
}

/// The outcome of a call, or the state of an open one in the words of [`state`].
pub fn outcome_or_state(call: &AuditedCall) -> String {
    match (&call.ended, call.waits_as) {
        (None, Some(word)) => state(word),
        (None, None) | (Some(_), _) => outcome(call),
    }
}

/// The outcome of a call, or the state of an open one.
pub fn outcome(call: &AuditedCall) -> String {
    let Some(end) = &call.ended else {
        return spoken(call.waits_as.unwrap_or("open"));
    };
    let outcome = spoken(&word(&end.outcome));
    match &call.reconciled {
        Some(it) => format!(
            "{outcome}, reconciled as {} {}",
            it.found.as_str(),
            acted_in_short("by", &it.by)
        ),
        None => outcome,
    }
}

/// The kind of an outcome, which decides on its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    /// It returned.
    Good,
    /// It failed, or may have had an effect that is not known.
    Bad,
    /// It has not ended.
    Open,
    /// It did not run.
    Plain,
}

/// The kind of the outcome of a call.
pub fn mood(call: &AuditedCall) -> Mood {
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

/// The totals as pairs of a heading and a sentence. Empty ones are left out.
pub fn totals(totals: &Totals) -> Vec<(&'static str, String)> {
    let verdicts = totals.verdicts.iter();
    let verdicts = verdicts.map(|(it, number)| format!("{number} {}", verdict_words(*it)));
    let open = (totals.open > 0).then(|| format!("{} open", totals.open));
    let outcomes = totals.outcomes.iter();
    let outcomes = outcomes.map(|(it, number)| format!("{number} {}", spoken(&word(it))));
    let ends = |(it, number): (&QuestionEnd, &u64)| format!("{number} {}", question_end(*it));
    let is_superseded = |it: &(&QuestionEnd, &u64)| *it.0 == QuestionEnd::Superseded;
    let superseded = totals.answers.iter().filter(is_superseded);
    let superseded = superseded.map(|(_, number)| count(*number, "request"));
    let answers = totals.answers.iter().filter(|it| !is_superseded(it));
    let answers = answers.map(ends);
    let automatic = totals.program_answers.iter().map(ends);
    let unclear = totals.answers_not_distinguished;
    let unclear = (unclear > 0).then(|| {
        format!(
            "{} by a person or a program (not recorded which)",
            count(unclear, "answer")
        )
    });
    let refused = totals.refused_answers;
    let refused = (refused > 0).then(|| format!("{} refused", count(refused, "answer")));
    let edited = totals.edited;
    let edited = (edited > 0).then(|| format!("arguments of {} changed", count(edited, "call")));
    let among = |verdict: Verdict, words: &str| {
        let number = totals.verdicts.get(&verdict);
        number.map_or(String::new(), |it| format!(", {it} {words}"))
    };
    let waived = among(Verdict::GateWaived, "with approval not enforced")
        + &among(
            Verdict::AllowedUnanswered,
            "because no person answered in time",
        );
    let unconfirmed = totals.ran_without_confirmation;
    let unconfirmed = (unconfirmed > 0).then(|| format!("{}{waived}", count(unconfirmed, "call")));
    let unknown = totals.unknown_to_this_day;
    let unknown = (unknown > 0).then(|| count(unknown, "call"));
    [
        ("verdicts", joined(verdicts)),
        ("outcomes", joined(outcomes.chain(open))),
        (
            "answers of people",
            joined(answers.chain(unclear).chain(refused).chain(edited)),
        ),
        ("replaced by a new request", joined(superseded)),
        ("answers of programs", joined(automatic)),
        ("ran without a person’s approval", joined(unconfirmed)),
        ("outcome still unknown", joined(unknown)),
    ]
    .into_iter()
    .filter(|(_, sentence)| !sentence.is_empty())
    .collect()
}

/// The numbers of sessions that are not shown, by reason.
pub fn unread(sessions: &[UnreadSession]) -> Vec<String> {
    let whys = [
        Unread::KeyNotGiven,
        Unread::KeyMissing,
        Unread::Erased,
        Unread::Unreadable,
    ];
    let counted = whys.map(|why| (why, sessions.iter().filter(|it| it.why == why).count()));
    let counted = counted.into_iter().filter(|(_, number)| *number > 0);
    let line = |(why, number): (Unread, usize)| {
        format!("{} not shown: {}", count(number, "session"), why.in_words())
    };
    counted.map(line).collect()
}

/// The details of a session that is not shown, to stand behind the reason: its problem, or who had
/// it erased, and why.
pub fn details(session: &UnreadSession) -> String {
    match (&session.problem, &session.erasure) {
        (Some(problem), _) => format!(": {problem}"),
        (None, Some(it)) => format!(" {}: {}", acted_in_short("by", &it.by), it.reason),
        (None, None) => String::new(),
    }
}

fn joined(parts: impl IntoIterator<Item = String>) -> String {
    parts.into_iter().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_but_interim_is_named() {
        for name in OUTCOMES {
            assert_eq!(
                outcome_named(name).map(|it| word(&it)).as_deref(),
                Some(name)
            );
        }
        assert_eq!(outcome_named("interim"), None);
    }

    #[test]
    fn state_is_told_in_words_of_people() {
        assert_eq!(state("awaiting_confirmation"), "waiting for approval");
        assert_eq!(state("awaiting_calls"), "awaiting calls");
    }

    #[test]
    fn wait_has_the_unit_that_says_most() {
        let shown = [7_000, 1_999_999, 90_000_000, 120_000_000, 90_000_000_000].map(waited);
        assert_eq!(shown, ["7 ms", "1 s", "90 s", "2 min", "25 h"]);
    }
}
