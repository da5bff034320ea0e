//! Calls in doubt: they started and their outcome was not known, and how that was settled.

use maud::{Markup, html};
use recount::audit::{AuditedCall, Question, QuestionEnd};
use recount::session::{About, Outcome};
use recount_telling::calls::question_end;

use crate::report::frame::{Section, at, numbered, said, table};
use crate::report::told::{Told, name, session, verified};

pub(in crate::report) fn doubts(told: &Told<'_>) -> Section {
    let doubted: Vec<_> = told.calls.iter().filter(|it| was_in_doubt(it)).collect();
    let heads = ["Tool", "Last start", "State", "How it was settled", "Place"];
    let rows = html! {
        @for call in &doubted {
            tr {
                th scope="row" { (said(&call.tool)) }
                td { @if let Some(run) = call.runs.last() { (at(run.started_at)) } }
                td {
                    @if call.is_unknown() { strong { "still unknown" } } @else { "settled" }
                }
                td { (settled(told, call)) }
                td { (session(call.session)) ", " (told.record(call.session, call.seq)) }
            }
        }
    };
    let body = html! {
        p {
            "A call is in doubt if it was started and then cut off, for example by a crash. It may "
            "have had its effect or not. It is not started again unless a person or the rule of "
            "its tool says so."
        }
        @if doubted.is_empty() { p { "No call was in doubt." } }
        @else {
            p { (numbered(doubted.len() as u64, "call")) " in doubt." }
            (table("Calls in doubt", &heads, rows))
        }
    };
    Section {
        id: "doubts",
        title: "Calls in doubt",
        body,
    }
}

fn was_in_doubt(call: &AuditedCall) -> bool {
    let outcome = call.ended.as_ref().map(|it| it.outcome);
    matches!(outcome, Some(Outcome::Unknown | Outcome::TimedOut))
        || call.questions.iter().any(|it| it.about == About::InDoubt)
}

fn settled(told: &Told<'_>, call: &AuditedCall) -> Markup {
    let asked = call
        .questions
        .iter()
        .filter(|it| it.about == About::InDoubt);
    let asked: Vec<&Question> = asked.collect();
    if asked.is_empty() && call.reconciled.is_none() {
        return html! {
            @if call.is_unknown() { "not settled" } @else { "by the rule of the tool" }
        };
    }
    html! {
        @for question in asked {
            p {
                "asked " (at(question.asked_at)) ": " (answer(question.end))
                @if let Some(by) = &question.by {
                    " by " (name(by)) span.quiet { ", " (verified(by)) }
                }
                @if let Some(end) = question.ended_at { ", " (at(end)) }
                @if let Some(reason) = &question.reason { ": " (told.text_of(call, reason)) }
            }
        }
        @if let Some(it) = &call.reconciled {
            p {
                "found later as " (it.found.as_str()) " by " (name(&it.by))
                span.quiet { ", " (verified(&it.by)) } ", " (at(it.at))
                @if let Some(reason) = &it.reason { ": " (told.text_of(call, reason)) }
                ", " (told.record(call.session, it.seq))
            }
        }
    }
}

fn answer(end: QuestionEnd) -> String {
    match end {
        QuestionEnd::Approved => "allowed to run again".to_owned(),
        QuestionEnd::SettledAsDone => "found to have had its effect".to_owned(),
        QuestionEnd::SettledAsFailed => "found to have had no effect".to_owned(),
        QuestionEnd::Open
        | QuestionEnd::Denied
        | QuestionEnd::Expired
        | QuestionEnd::AllowedUnanswered
        | QuestionEnd::Withdrawn
        | QuestionEnd::Superseded => question_end(end),
    }
}
