//! Calls that did not run, or were stopped: denied, expired, cancelled, refused by a rule.

use std::collections::BTreeMap;

use maud::{Markup, html};
use recount::audit::{AuditedCall, Question, QuestionEnd, Verdict};
use recount_telling::calls::{rule, waited};

use crate::report::frame::{Section, at, number, numbered, said, table};
use crate::report::told::{Told, name, object, session, verified};

pub(in crate::report) fn not_allowed(told: &Told<'_>) -> Section {
    let ended = |end| move |it: &&Question| it.end == end;
    let of = |end| {
        let of_call = move |call| ends(call, ended(end));
        told.calls
            .iter()
            .copied()
            .flat_map(of_call)
            .collect::<Vec<_>>()
    };
    let (denied, expired) = (of(QuestionEnd::Denied), of(QuestionEnd::Expired));
    let withdrawn = of(QuestionEnd::Withdrawn);
    let unanswered = of(QuestionEnd::AllowedUnanswered);
    let cancelled: Vec<_> = told
        .calls
        .iter()
        .filter(|it| it.cancelled.is_some())
        .collect();
    let body = html! {
        h3 { "Denied" }
        (questions(told, "Denied requests", "denied", &denied))
        h3 { "Expired" }
        p { "A request without an answer in time counts as a no." }
        (questions(told, "Expired requests", "expired", &expired))
        @if !unanswered.is_empty() {
            h3 { "Expired, and the call ran" }
            p {
                "No person answered in time, and the policy lets such a call run. No person "
                "allowed these calls."
            }
            (questions(told, "Requests whose call ran unanswered", "unanswered", &unanswered))
        }
        @if !withdrawn.is_empty() {
            h3 { "Withdrawn" }
            p { "The call no longer needed the answer, because it had ended." }
            (questions(told, "Withdrawn requests", "withdrawn", &withdrawn))
        }
        h3 { "Cancelled" }
        (cancellations(told, &cancelled))
        h3 { "Refused by a rule" }
        (refusals(told))
    };
    Section {
        id: "not-allowed",
        title: "Denied, expired, cancelled and refused",
        body,
    }
}

fn ends<'c>(
    call: &'c AuditedCall,
    wanted: impl Fn(&&Question) -> bool + 'c,
) -> impl Iterator<Item = (&'c AuditedCall, &'c Question)> {
    call.questions
        .iter()
        .filter(move |it| wanted(it))
        .map(move |it| (call, it))
}

fn questions(
    told: &Told<'_>,
    caption: &str,
    word: &str,
    found: &[(&AuditedCall, &Question)],
) -> Markup {
    if found.is_empty() {
        return html! { p { "There is none." } };
    }
    let heads = [
        "Tool",
        "Asked",
        "Ended",
        "By",
        "Reason",
        "Arguments",
        "Place",
    ];
    let rows = html! {
        @for (call, question) in found {
            tr {
                th scope="row" { (said(&call.tool)) }
                td { (at(question.asked_at)) }
                td {
                    @if let Some(end) = question.ended_at { (at(end)) }
                    @if let Some(us) = question.waited_us { ", after " (waited(us)) }
                }
                td {
                    @match &question.by {
                        Some(by) => { (name(by)) span.quiet { ", " (verified(by)) } },
                        None => span.quiet { "no person" },
                    }
                }
                td { (told.reason(call, question.reason.as_deref())) }
                td { (told.text_of(call, question.args.as_str())) }
                td {
                    (session(call.session)) ", "
                    (told.record(call.session, question.ended_seq.unwrap_or(question.seq)))
                }
            }
        }
    };
    html! {
        p { (numbered(found.len() as u64, "request")) " " (word) "." }
        (table(caption, &heads, rows))
    }
}

fn cancellations(told: &Told<'_>, found: &[&&AuditedCall]) -> Markup {
    if found.is_empty() {
        return html! { p { "No call was cancelled." } };
    }
    let heads = [
        "Tool",
        "Cancelled",
        "By",
        "Reason",
        "Starts before",
        "Place",
    ];
    let rows = html! {
        @for call in found {
            @if let Some(it) = &call.cancelled {
                tr {
                    th scope="row" { (said(&call.tool)) }
                    td { (at(it.at)) }
                    td {
                        @match &it.by {
                            Some(by) => { (name(by)) span.quiet { ", " (verified(by)) } },
                            None => span.quiet { "the model, or the end of the session" },
                        }
                    }
                    td { (told.reason(call, it.reason.as_deref())) }
                    td.number { (call.runs.len()) }
                    td { (session(call.session)) ", " (told.record(call.session, call.seq)) }
                }
            }
        }
    };
    html! {
        p { (numbered(found.len() as u64, "call")) " cancelled." }
        (table("Cancelled calls", &heads, rows))
    }
}

/// The calls that rules refused, grouped by tool, rule and policies.
fn refusals(told: &Told<'_>) -> Markup {
    let mut groups: BTreeMap<_, u64> = BTreeMap::new();
    for call in told
        .calls
        .iter()
        .filter(|it| it.verdict == Verdict::RefusedByPolicy)
    {
        if let Some(policy) = &call.policy {
            let key = (call.tool.as_str(), rule(policy.rule), policy.policies);
            *groups.entry(key).or_default() += 1;
        }
    }
    if groups.is_empty() {
        return html! { p { "No call was refused by a rule." } };
    }
    let all = groups.values().sum();
    let parts: Vec<String> = groups.values().map(number).collect();
    let rows = html! {
        @for ((tool, rule, policies), count) in &groups {
            tr {
                th scope="row" { (said(tool)) }
                td { (rule) }
                td { @if let Some(policies) = policies { (object("policies", *policies)) } }
                td.number { (number(count)) }
            }
        }
    };
    html! {
        (table("Calls refused by a rule", &["Tool", "Rule", "Policies", "#Calls"], rows))
        p { (parts.join(" + ")) " = " (numbered(all, "call")) }
    }
}
