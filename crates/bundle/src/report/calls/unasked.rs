//! Calls that no person was asked about, by the rule that let them.

use std::collections::BTreeMap;

use maud::{Markup, html};
use recount::audit::{AuditedCall, Verdict};
use recount::session::{ActedAs, ObjectHash, Seq, SessionId};
use recount_telling::calls::{rule, verdict_words};

use crate::report::frame::{Section, number, numbered, said, table};
use crate::report::told::{Told, object, session};

/// The calls of one tool that one rule let.
struct Group {
    calls: u64,
    ran: u64,
    first: (SessionId, Seq),
}

type Key<'c> = (&'c str, String, Option<ObjectHash>);

pub(in crate::report) fn unasked(told: &Told<'_>) -> Section {
    let mut groups: BTreeMap<Key<'_>, Group> = BTreeMap::new();
    for call in told.calls.iter().filter(|it| is_unasked(it)) {
        let policies = call.policy.as_ref().and_then(|it| it.policies);
        let group = groups.entry((&call.tool, let_by(call), policies));
        let group = group.or_insert_with(|| Group {
            calls: 0,
            ran: 0,
            first: (call.session, call.seq),
        });
        group.calls += 1;
        group.ran += u64::from(!call.runs.is_empty());
    }
    let body = html! {
        p {
            "No person decided about these calls. Each row has the rule, leave or program that let "
            "them, and the policies that were in force."
        }
        @if groups.is_empty() { p { "There is no such call." } }
        @else { (grouped(told, &groups)) }
    };
    Section {
        id: "unasked",
        title: "Calls without a person",
        body,
    }
}

fn grouped(told: &Told<'_>, groups: &BTreeMap<Key<'_>, Group>) -> Markup {
    let heads = [
        "Tool",
        "Let by",
        "Policies",
        "#Calls",
        "#Of them ran",
        "First one",
    ];
    let rows = html! {
        @for ((tool, let_by, policies), group) in groups {
            tr {
                th scope="row" { (said(tool)) }
                td { (said(let_by)) }
                td {
                    @match policies {
                        Some(policies) => (object("policies", *policies)),
                        None => "none",
                    }
                }
                td.number { (number(group.calls)) }
                td.number { (number(group.ran)) }
                td { (session(group.first.0)) ", " (told.record(group.first.0, group.first.1)) }
            }
        }
    };
    let parts: Vec<String> = groups.values().map(|it| number(it.calls)).collect();
    let all = groups.values().map(|it| it.calls).sum();
    html! {
        (table("Calls without a person, by what let them", &heads, rows))
        p { (parts.join(" + ")) " = " (numbered(all, "call")) }
    }
}

/// True if no person decided about the call.
fn is_unasked(call: &AuditedCall) -> bool {
    match call.verdict {
        Verdict::AllowedByRule
        | Verdict::AllowedByProgram
        | Verdict::GateWaived
        | Verdict::AllowedUnanswered
        | Verdict::AllowedByLeave
        | Verdict::ApprovedAutomatically
        | Verdict::AnsweredByProgram
        | Verdict::ResultReused => true,
        Verdict::Approved
        | Verdict::Denied
        | Verdict::DeniedAutomatically
        | Verdict::Expired
        | Verdict::Withdrawn
        | Verdict::Waiting
        | Verdict::RefusedByPolicy
        | Verdict::RefusedByProgram
        | Verdict::Undecided => false,
    }
}

/// The program whose flag or provider approved a call.
fn program(call: &AuditedCall) -> Option<&str> {
    match call.deciding_question()?.by.as_ref()?.acted_as.as_ref()? {
        ActedAs::Program(program) => Some(program),
        ActedAs::Person => None,
    }
}

/// The words for what let a call.
fn let_by(call: &AuditedCall) -> String {
    let verdict = verdict_words(call.verdict);
    match (&call.waived, &call.policy) {
        (Some(waived), _)
            if matches!(
                call.verdict,
                Verdict::GateWaived | Verdict::AllowedUnanswered
            ) =>
        {
            format!("{verdict}: {}", waived.reason)
        }
        (_, Some(policy)) if call.verdict == Verdict::AllowedByRule => {
            format!("{verdict}: {}", rule(policy.rule))
        }
        (Some(_) | None, Some(_) | None) => match program(call) {
            Some(program) => format!("{verdict}: program {program:?}"),
            None => verdict,
        },
    }
}
