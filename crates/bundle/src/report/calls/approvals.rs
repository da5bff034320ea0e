//! The answers that allowed a call.

use maud::{Markup, html};
use recount::audit::{AuditedCall, Question, QuestionEnd};
use recount::session::{ActedAs, Actor};
use recount_telling::calls::{outcome_or_state, waited};
use recount_telling::cut;

use super::approval::card;
use crate::report::frame::{ROWS_MAX, Section, at, hash, number, numbered, said, table};
use crate::report::told::{Told, name, session};

const HEADS: [&str; 8] = [
    "Tool",
    "Arguments",
    "By",
    "Asked",
    "Answered after",
    "Outcome",
    "Session",
    "Answer",
];

/// The columns of arguments in a row.
const ARGUMENTS_MAX: usize = 120;

pub(in crate::report) fn approvals(told: &Told<'_>) -> Section {
    let approved: Vec<_> = told.calls.iter().flat_map(|it| approved(it)).collect();
    let count = numbered(approved.len() as u64, "approval");
    let is_person = |it: &&Question| {
        let by = it.by.as_ref().and_then(|by| by.acted_as.as_ref());
        by == Some(&ActedAs::Person)
    };
    let as_person = approved.iter().map(|(_, it)| *it).filter(is_person);
    let as_person = as_person.count() as u64;
    let others = approved.len() as u64 - as_person;
    let body = html! {
        p {
            "Each entry is one request that was approved in the name of a person. An approval is "
            "bound to the exact arguments, by their hash, and to the contract of the tool. If "
            "either had changed, the call would not have run with it. A tool that asks while it "
            "runs, or that was cut off, had started before; its starts say so."
        }
        @if !approved.is_empty() {
            p {
                "Of them, " (numbered(as_person, "approval")) " came from someone who acted as a "
                "person. For the other " (number(others)) ", it is not recorded whether a person "
                "or a program acted under that name. A call may have several requests, so their "
                "numbers differ from those of calls."
            }
        }
        @if approved.is_empty() { p { "No call was approved by a person." } }
        @else if approved.len() <= ROWS_MAX {
            p { (count) "." }
            @for (call, question) in approved { (card(told, call, question)) }
        } @else {
            p { (count) ", one a row. records.jsonl has the reasons and edits of each." }
            (table("Approvals", &HEADS, html! {
                @for (call, question) in approved { (row(told, call, question)) }
            }))
        }
    };
    Section {
        id: "approvals",
        title: "Approvals",
        body,
    }
}

/// The requests of a call that a person approved.
fn approved(call: &AuditedCall) -> impl Iterator<Item = (&AuditedCall, &Question)> {
    let approved = |it: &&Question| {
        let is_by_program = it.by.as_ref().is_some_and(Actor::is_program);
        it.end == QuestionEnd::Approved && !is_by_program
    };
    call.questions
        .iter()
        .filter(approved)
        .map(move |it| (call, it))
}

fn row(told: &Told<'_>, call: &AuditedCall, question: &Question) -> Markup {
    let answer = question.ended_seq.unwrap_or(question.seq);
    html! {
        tr {
            th scope="row" { (said(&call.tool)) }
            td {
                @if told.contents.is_disclosed(call) {
                    code { (said(&cut(question.args.as_str(), ARGUMENTS_MAX))) } " "
                }
                (hash(question.args_sha256))
                @if question.edited_args.is_some() { " (changed by the approver)" }
            }
            td {
                @for earlier in &question.approvals { (name(&earlier.by)) ", " }
                @if let Some(by) = &question.by { (name(by)) }
            }
            td { (at(question.asked_at)) }
            td { @if let Some(us) = question.waited_us { (waited(us)) } }
            td { (said(&outcome_or_state(call))) }
            td { (session(call.session)) }
            td {
                (told.record(call.session, answer))
                @if let Some(proof) = told.proof(call, answer) {
                    " " a href=(proof) { "proof" }
                }
            }
        }
    }
}
