//! The policies and contracts by which calls were decided, and each change of them.

use std::collections::BTreeMap;

use maud::{Markup, html};
use recount::session::{ObjectHash, Timestamp};

use super::difference;
use crate::contents::{SessionContents, TermsChange};
use crate::disclosure::Disclose;
use crate::report::frame::{Section, at, facts, more, number, numbered, said, table};
use crate::report::told::{Told, object, session};

/// The maximum number of changes whose differences are shown.
const CHANGES_MAX: usize = 50;

/// The policies and contracts of an agent.
type Terms = (ObjectHash, ObjectHash);

/// The records that took an agent from some policies and contracts to other ones.
struct Change<'c> {
    agent: &'c str,
    before: Terms,
    first: &'c TermsChange,
    last_at: Timestamp,
    records: u64,
}

pub(in crate::report) fn policies(told: &Told<'_>) -> Section {
    let agents = by_agent(&told.contents.sessions);
    let changes = changes(&agents);
    let body = html! {
        p {
            "Policies say which calls are allowed, refused or need an approval. Contracts are the "
            "declarations of the tools. Both come with the program that attaches to a session, so "
            "the actor of a change is that program. No person is on record for it."
        }
        h3 { "In force" }
        @if agents.is_empty() { p { "No program attached to a session in scope." } }
        @else { (in_force(&agents)) }
        h3 { "Changes" }
        @if changes.is_empty() { p { "The policies and contracts did not change." } }
        @else {
            p {
                (numbered(changes.len() as u64, "change")) ". A session that begins with other "
                "terms than the one before it of the same agent counts as a change."
            }
            @for change in changes.iter().take(CHANGES_MAX) { (shown(told, change)) }
            (more(changes.len(), CHANGES_MAX))
        }
    };
    Section {
        id: "policies",
        title: "Policies and their changes",
        body,
    }
}

/// The records with policies and contracts of each agent, oldest first.
fn by_agent(sessions: &[SessionContents]) -> BTreeMap<&str, Vec<&TermsChange>> {
    let mut agents: BTreeMap<&str, Vec<&TermsChange>> = BTreeMap::new();
    for session in sessions {
        let agent = session.opened.as_ref().map_or("", |it| it.agent.as_str());
        if !session.terms.is_empty() {
            agents.entry(agent).or_default().extend(&session.terms);
        }
    }
    for terms in agents.values_mut() {
        terms.sort_by_key(|it| (it.at, it.session, it.seq));
    }
    agents
}

/// The changes from each record to the next one of its agent. Equal ones are one change.
fn changes<'c>(agents: &BTreeMap<&'c str, Vec<&'c TermsChange>>) -> Vec<Change<'c>> {
    let mut changes: Vec<Change<'c>> = Vec::new();
    let mut known: BTreeMap<(&str, Terms, Terms), usize> = BTreeMap::new();
    for (agent, terms) in agents {
        for (before, after) in terms.iter().zip(terms.iter().skip(1)) {
            let (from, to) = (terms_of(before), terms_of(after));
            if from == to {
                continue;
            }
            let place = *known.entry((agent, from, to)).or_insert(changes.len());
            match changes.get_mut(place) {
                Some(change) => {
                    change.records += 1;
                    change.last_at = after.at;
                }
                None => changes.push(Change {
                    agent,
                    before: from,
                    first: after,
                    last_at: after.at,
                    records: 1,
                }),
            }
        }
    }
    changes.sort_by_key(|it| (it.first.at, it.first.session, it.first.seq));
    changes
}

fn terms_of(change: &TermsChange) -> Terms {
    (change.policies, change.contracts)
}

/// All policies and contracts, with the agents and programs that had them.
fn in_force(agents: &BTreeMap<&str, Vec<&TermsChange>>) -> Markup {
    let mut rows: BTreeMap<_, (Timestamp, Timestamp, u64)> = BTreeMap::new();
    for (agent, terms) in agents {
        let mut program = "";
        for it in terms {
            program = it.program.as_deref().unwrap_or(program);
            let key = (*agent, program, it.policies, it.contracts);
            let row = rows.entry(key).or_insert((it.at, it.at, 0));
            (row.1, row.2) = (it.at, row.2 + 1);
        }
    }
    let heads = [
        "Agent",
        "Program",
        "Policies",
        "Contracts",
        "First",
        "Last",
        "#Records",
    ];
    table(
        "Policies and contracts in force",
        &heads,
        html! {
            @for ((agent, program, policies, contracts), (first, last, records)) in &rows {
                tr {
                    th scope="row" { (named(agent)) }
                    td { (said(program)) }
                    td { (object("policies", *policies)) }
                    td { (object("contracts", *contracts)) }
                    td { (at(*first)) }
                    td { (at(*last)) }
                    td.number { (number(records)) }
                }
            }
        },
    )
}

fn named(agent: &str) -> Markup {
    html! { @if agent.is_empty() { "unknown" } @else { (said(agent)) } }
}

fn shown(told: &Told<'_>, change: &Change<'_>) -> Markup {
    let first = change.first;
    let (policies, contracts) = change.before;
    let terms = &told.contents.terms;
    let by = html! {
        @match &first.program {
            Some(program) => { "the program " (said(program)) ", when it attached" },
            None => "the attached program, whose tools changed",
        }
        @if let Some(gates) = &first.gates {
            @if gates.enforced { "; approvals are enforced" }
            @else {
                "; " strong { "approvals are not enforced" }
                @if let Some(reason) = &gates.reason { ": " (said(reason)) }
            }
        }
    };
    let rows = [
        (
            "First record",
            html! {
                (at(first.at)) ", session " (session(first.session)) ", "
                (told.record(first.session, first.seq)) ", " code { (first.kind) }
            },
        ),
        (
            "Records",
            html! {
                (number(change.records)) ", the last " (at(change.last_at))
            },
        ),
        ("By", by),
        ("Policies", from_to("policies", policies, first.policies)),
        (
            "Contracts",
            from_to("contracts", contracts, first.contracts),
        ),
    ];
    html! {
        article.long {
            h3 { "Change of agent " (named(change.agent)) }
            (facts(&rows))
            @if told.contents.request.disclose == Disclose::None {
                p.quiet { "The texts are withheld." }
            } @else {
                (texts("policies", &terms.policies, policies, first.policies))
                (texts("contracts", &terms.contracts, contracts, first.contracts))
            }
        }
    }
}

fn from_to(folder: &str, before: ObjectHash, after: ObjectHash) -> Markup {
    html! {
        @if before == after { "unchanged, " (object(folder, after)) }
        @else { "from " (object(folder, before)) " to " (object(folder, after)) }
    }
}

/// The difference of the texts of two objects, if they are not the same.
fn texts(
    what: &str,
    known: &BTreeMap<ObjectHash, Option<String>>,
    before: ObjectHash,
    after: ObjectHash,
) -> Markup {
    let text = |hash| known.get(&hash).and_then(Option::as_deref);
    html! {
        @if before != after {
            p { "Difference of the " (what) ":" }
            @match (text(before), text(after)) {
                (Some(before), Some(after)) => (difference(before, after)),
                (None, _) | (_, None) => p.quiet {
                    "not shown: an object is sealed, and its key is not here"
                },
            }
        }
    }
}
