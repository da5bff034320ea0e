//! The number of sessions, records and calls. Every sum is shown with its parts.

use std::collections::BTreeMap;

use maud::{Markup, html};
use recount::audit::{AuditedCall, Verdict};
use recount::session::Outcome;

use crate::report::frame::{ROWS_MAX, Section, number, numbered, said, table};
use crate::report::told::Told;

/// The columns of the decisions about calls.
const DECISIONS: [&str; 13] = [
    "#Allowed by a person",
    "#By a standing leave",
    "#By a rule",
    "#By a program",
    "#Approval not enforced",
    "#Without an answer",
    "#Earlier result reused",
    "#Denied by a person",
    "#Denied by a program",
    "#Refused by a rule",
    "#Expired",
    "#Withdrawn",
    "#Not decided",
];

/// The columns of the outcomes of calls.
const OUTCOMES: [&str; 9] = [
    "#Returned",
    "#Failed",
    "#In doubt",
    "#In doubt, settled",
    "#Denied",
    "#Refused",
    "#Expired",
    "#Cancelled",
    "#Open",
];

pub(in crate::report) fn population(told: &Told<'_>) -> Section {
    let all = told.calls.len() as u64;
    let body = html! {
        (extent(told))
        h3 { "Calls by tool and decision" }
        p {
            "A call is one request of a model or a program to run a tool. Each call is counted in "
            "one column: by the decision that allowed or prevented its run. A person is a name "
            "that answered; the approvals below say for how many it is recorded that a person "
            "acted. Contents of withheld calls are not in this bundle, so not every number can be "
            "counted again."
        }
        (crossed("Calls by tool and decision", &told.calls, &DECISIONS, decision))
        h3 { "Calls by tool and outcome" }
        p { "The same " (numbered(all, "call")) ", each counted by what became of it." }
        (crossed("Calls by tool and outcome", &told.calls, &OUTCOMES, outcome))
        (sample(told))
    };
    Section {
        id: "population",
        title: "Population",
        body,
    }
}

/// The numbers of records and sessions.
fn extent(told: &Told<'_>) -> Markup {
    let extent = &told.contents.extent;
    let sessions = told.contents.sessions.iter();
    let unread = sessions.filter(|it| it.unread.is_some()).count() as u64;
    let rows = [
        (
            "Records of the journal",
            extent.size,
            "in scope",
            extent.records,
            "outside the scope",
        ),
        (
            "Records in scope",
            extent.records,
            "shown whole",
            extent.disclosed,
            "shown as envelope or hash",
        ),
        (
            "Sessions of the journal",
            extent.sessions,
            "in scope",
            extent.sessions_in_scope,
            "outside the scope",
        ),
        (
            "Sessions in scope",
            extent.sessions_in_scope,
            "not readable here",
            unread,
            "read",
        ),
    ];
    let rows = html! {
        @for (what, all, one, part, other) in rows {
            @let rest = all.saturating_sub(part);
            tr {
                th scope="row" { (what) }
                td { (number(part)) " " (one) " + " (number(rest)) " " (other) }
                td.number { (number(part + rest)) }
            }
        }
    };
    table("Records and sessions", &["What", "Parts", "#Sum"], rows)
}

/// Calls by tool and one other property. Columns without a call are left out.
fn crossed(
    caption: &str,
    calls: &[&AuditedCall],
    columns: &[&str],
    column: impl Fn(&AuditedCall) -> usize,
) -> Markup {
    if calls.is_empty() {
        return html! { p { "No call is in scope." } };
    }
    let mut by_tool: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for call in calls {
        let counts = by_tool.entry(&call.tool);
        let counts = counts.or_insert_with(|| vec![0; columns.len()]);
        if let Some(count) = counts.get_mut(column(call)) {
            *count += 1;
        }
    }
    let sums = summed(columns.len(), by_tool.values());
    let others = summed(columns.len(), by_tool.values().skip(ROWS_MAX));
    let hidden = by_tool.len().saturating_sub(ROWS_MAX);
    let used = || {
        sums.iter()
            .enumerate()
            .filter(|(_, sum)| **sum > 0)
            .map(|(at, _)| at)
    };
    let heads = used().filter_map(|at| columns.get(at).copied());
    let heads: Vec<&str> = ["Tool"].into_iter().chain(heads).chain(["#All"]).collect();
    let row = |counts: &[u64]| {
        html! {
            @for at in used() { td.number { (number(of(counts, at))) } }
            td.number { (number(counts.iter().sum::<u64>())) }
        }
    };
    let rows = html! {
        @for (tool, counts) in by_tool.iter().take(ROWS_MAX) {
            tr {
                th scope="row" { @if tool.is_empty() { "(no name)" } @else { (said(tool)) } }
                (row(counts))
            }
        }
        @if hidden > 0 { tr { th scope="row" { (number(hidden)) " other tools" } (row(&others)) } }
        tr.sum { th scope="row" { "All" } (row(&sums)) }
    };
    let parts: Vec<String> = used().map(|at| number(of(&sums, at))).collect();
    html! {
        (table(caption, &heads, rows))
        p { (parts.join(" + ")) " = " (numbered(sums.iter().sum(), "call")) }
    }
}

fn summed<'c>(columns: usize, rows: impl Iterator<Item = &'c Vec<u64>>) -> Vec<u64> {
    let mut sums = vec![0; columns];
    for counts in rows {
        sums.iter_mut().zip(counts).for_each(|(sum, it)| *sum += it);
    }
    sums
}

fn of(counts: &[u64], at: usize) -> u64 {
    counts.get(at).copied().unwrap_or_default()
}

/// The column of `DECISIONS` in which a call is counted.
fn decision(call: &AuditedCall) -> usize {
    match call.verdict {
        Verdict::Approved => 0,
        Verdict::AllowedByLeave => 1,
        Verdict::AllowedByRule => 2,
        Verdict::ApprovedAutomatically | Verdict::AllowedByProgram | Verdict::AnsweredByProgram => {
            3
        }
        Verdict::GateWaived => 4,
        Verdict::AllowedUnanswered => 5,
        Verdict::ResultReused => 6,
        Verdict::Denied => 7,
        Verdict::DeniedAutomatically | Verdict::RefusedByProgram => 8,
        Verdict::RefusedByPolicy => 9,
        Verdict::Expired => 10,
        Verdict::Withdrawn => 11,
        Verdict::Waiting | Verdict::Undecided => 12,
    }
}

/// The column of `OUTCOMES` in which a call is counted.
fn outcome(call: &AuditedCall) -> usize {
    match call.ended.as_ref().map(|it| it.outcome) {
        Some(Outcome::Returned | Outcome::Supplied) => 0,
        Some(Outcome::Failed) => 1,
        Some(Outcome::Unknown | Outcome::TimedOut) if call.is_unknown() => 2,
        Some(Outcome::Unknown | Outcome::TimedOut) => 3,
        Some(Outcome::Denied) => 4,
        Some(Outcome::Refused) => 5,
        Some(Outcome::Expired) => 6,
        Some(Outcome::Cancelled | Outcome::Withdrawn) => 7,
        Some(Outcome::Interim) | None => 8,
    }
}

/// The sample, and how it can be drawn again.
fn sample(told: &Told<'_>) -> Markup {
    let Some(sample) = &told.contents.request.sample else {
        return html! { p { "No sample was drawn: the page is about all calls in scope." } };
    };
    let population = told.contents.population.len() as u64;
    let drawn = population.min(sample.count);
    html! {
        h3 { "Sample" }
        p {
            "The content of " (numbered(drawn, "call")) " of " (numbered(population, "call"))
            " is shown. They were drawn with the seed " code { (said(&sample.seed)) } ": the rank "
            "of a call is the SHA-256 of the seed, the id of the session and the id of the call as "
            "text, one after the other. The calls with the smallest ranks are the sample. "
            "population.jsonl lists all calls with their ranks, so the sample can be drawn again."
        }
    }
}
