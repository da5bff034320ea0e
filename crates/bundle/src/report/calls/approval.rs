//! One approval: what was shown, who answered, what ran.

use maud::{Markup, html};
use recount::audit::{AuditedCall, Question, Run};
use recount::session::{About, Leave};
use recount_journal::Hash;
use recount_telling::bound_words;
use recount_telling::calls::{asked, outcome_or_state, rule, spoken, waited};

use crate::report::changes::difference;
use crate::report::frame::{at, facts, hash, long, said};
use crate::report::told::{Told, name, object, session, who, withheld};

pub(super) fn card(told: &Told<'_>, call: &AuditedCall, question: &Question) -> Markup {
    let mut rows = vec![
        ("Call", place_of_call(told, call)),
        (
            "Asked",
            html! { (at(question.asked_at)) ", " (asked(question)) (why(call)) },
        ),
        ("Shown", shown(told, call, question)),
        (
            "Contract of the tool",
            html! {
                "SHA-256 of its declaration, a part of a file in contracts/: "
                (hash(question.contract))
            },
        ),
        ("Answered", answered(question)),
        ("By", by(question)),
        ("Reason", told.reason(call, question.reason.as_deref())),
    ];
    if !question.approvals.is_empty() {
        rows.push(("Approvals before", earlier(told, call, question)));
    }
    if question.edited_args.is_some() {
        rows.push(("Edit", edit(told, call, question)));
    }
    if let Some(payload) = &question.payload {
        rows.push((
            "Value given to the tool",
            told.text_of(call, payload.as_str()),
        ));
    }
    if let Some(bound) = question.allow_for {
        let words = bound_words(bound);
        rows.push((
            "Standing leave",
            html! { "also allows later calls of the tool " (words) },
        ));
    }
    if !question.refused.is_empty() {
        rows.push(("Refused answers", refused(question)));
    }
    rows.push(("What ran", ran(told, call)));
    rows.push(("Outcome", outcome(told, call)));
    rows.push(("Place in the log", place(told, call, question)));
    html! {
        article {
            h3 {
                (said(&call.tool)) ", approved"
                @if let Some(by) = &question.by { " by " (name(by)) }
            }
            (facts(&rows))
        }
    }
}

fn place_of_call(told: &Told<'_>, call: &AuditedCall) -> Markup {
    html! {
        "session " (session(call.session)) ", " (told.record(call.session, call.seq))
        ", received " (at(call.called_at)) ", made by "
        @match &call.called_by {
            Some(by) => (name(by)),
            None => "the model",
        }
    }
}

/// The rule that required the approval.
fn why(call: &AuditedCall) -> Markup {
    html! {
        @if let Some(policy) = &call.policy {
            "; rule: " (rule(policy.rule))
            @if let Some(policies) = policy.policies {
                ", of the policies " (object("policies", policies))
            }
        }
    }
}

/// The text and the arguments that the approver saw.
fn shown(told: &Told<'_>, call: &AuditedCall, question: &Question) -> Markup {
    let disclosed = told.contents.is_disclosed(call);
    html! {
        @match &question.hint {
            Some(hint) if disclosed => { "“" (long(hint)) "” and the arguments " },
            Some(_) => { "a text (" (withheld()) ") and the arguments " },
            None => "the arguments ",
        }
        @if disclosed { code { (long(question.args.as_str())) } } @else { (withheld()) }
        ", SHA-256 " (hash(question.args_sha256))
        @if !call.sealed_args.is_empty() {
            "; sealed as secret: "
            @for pointer in &call.sealed_args { code { (said(pointer)) } " " }
        }
    }
}

fn answered(question: &Question) -> Markup {
    html! {
        @if let Some(time) = question.ended_at { (at(time)) }
        @if let Some(us) = question.waited_us { ", after " (waited(us)) }
        @if question.about == About::InDoubt {
            "; the call had been cut off, and was allowed to run again"
        }
    }
}

fn by(question: &Question) -> Markup {
    match &question.by {
        Some(by) => who(by),
        None => html! { "not recorded" },
    }
}

fn earlier(told: &Told<'_>, call: &AuditedCall, question: &Question) -> Markup {
    html! {
        (question.approvals_needed) " approvals were needed."
        @if is_of_one_name(question) {
            " " strong { "Several of them are in the same name." }
        }
        ul {
            @for it in &question.approvals {
                li {
                    (who(&it.by)) ", " (at(it.at)) ", " (told.record(call.session, it.seq))
                    @if let Some(text) = &it.reason { ": " (told.text_of(call, text)) }
                }
            }
        }
    }
}

/// True if two of the approvals of a request are in the same name.
fn is_of_one_name(question: &Question) -> bool {
    let earlier = question.approvals.iter().map(|it| it.by.name.as_str());
    let mut names: Vec<&str> = earlier
        .chain(question.by.iter().map(|it| it.name.as_str()))
        .collect();
    names.sort_unstable();
    names
        .windows(2)
        .any(|pair| matches!(pair, [one, other] if one == other))
}

/// The arguments that the approver wrote instead, as a difference.
fn edit(told: &Told<'_>, call: &AuditedCall, question: &Question) -> Markup {
    let Some(edited) = &question.edited_args else {
        return html! {};
    };
    html! {
        "The approver changed the arguments. SHA-256 of the changed ones "
        (hash(Hash::of_object(edited.as_str().as_bytes())))
        @if told.contents.is_disclosed(call) {
            (difference(question.args.as_str(), edited.as_str()))
        } @else { ", " (withheld()) }
    }
}

fn refused(question: &Question) -> Markup {
    html! {
        ul {
            @for it in &question.refused {
                li {
                    (at(it.at)) ", " (who(&it.by)) ": refused, " (said(&spoken(&it.refusal)))
                    @if it.last_recorded { "; further ones are not recorded" }
                }
            }
        }
    }
}

fn ran(told: &Told<'_>, call: &AuditedCall) -> Markup {
    if call.runs.is_empty() {
        return html! { "nothing ran" };
    }
    html! { ul { @for run in &call.runs { li { (one_run(told, call, run)) } } } }
}

fn one_run(told: &Told<'_>, call: &AuditedCall, run: &Run) -> Markup {
    let leave = match run.leave {
        Leave::NotGated => "no approval required",
        Leave::Waived => "approval not enforced",
        Leave::Approved(_) => "by an approval",
        Leave::Standing(_) => "by a standing leave",
        Leave::Unanswered(_) => "without an answer, as its policy says; no person allowed it",
    };
    html! {
        "start " (run.attempt) ", " (leave) ", " (at(run.started_at))
        @match run.ended_at {
            Some(end) => { ", ended " (at(end)) },
            None => ", no end recorded",
        }
        @if let Some(client) = &run.claimed_by { ", run by the client " (name(client)) }
        ", " (told.record(call.session, run.seq))
    }
}

fn outcome(told: &Told<'_>, call: &AuditedCall) -> Markup {
    html! {
        (said(&outcome_or_state(call)))
        @if let Some(end) = &call.ended {
            ", " (at(end.at)) ", " (told.record(call.session, end.of.unwrap_or(end.seq)))
        }
    }
}

fn place(told: &Told<'_>, call: &AuditedCall, question: &Question) -> Markup {
    let answer = question.ended_seq.unwrap_or(question.seq);
    html! {
        "request: " (told.record(call.session, question.seq))
        "; answer: " (told.record(call.session, answer))
        @match told.proof(call, answer) {
            Some(file) => { "; proof: " a href=(file) { (file) } },
            None => "; no proof: no checkpoint covers the answer, or it is withheld",
        }
    }
}
