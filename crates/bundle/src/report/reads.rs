//! The reads of recorded sessions.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use recount::session::{SessionId, Timestamp};
use recount_reads::{Depth, Missed, RecordedRead, Switch};

use super::frame::{ROWS_MAX, Section, at, hash, number, said, table};
use super::told::{Told, name, session, verified};
use crate::statements::AccessJournal;

pub(super) fn reads(told: &Told<'_>) -> Section {
    let body = html! {
        @match &told.contents.statements.access {
            Some(access) => (on_record(told, access)),
            None => p {
                "No access journal was given to the writer of this bundle, so the page does not "
                "say who read the sessions."
            },
        }
        p { "Reads by the owner’s command line, of the files of the journal, are not recorded." }
    };
    Section {
        id: "reads",
        title: "Reads",
        body,
    }
}

/// The reads of one reader.
#[derive(Default)]
struct Reader<'a> {
    reads: Vec<&'a RecordedRead>,
    envelopes: u64,
    bodies: u64,
    refused: u64,
}

/// The reads of a session by one reader.
struct OfSession {
    times: u64,
    depth: Depth,
    first: Timestamp,
    last: Timestamp,
}

fn on_record(told: &Told<'_>, access: &AccessJournal) -> Markup {
    let readers = readers(told, access);
    let reads = readers.values().flat_map(|it| &it.reads);
    let number_of_reads: u64 = reads.map(|it| 1 + it.repeats).sum();
    let found = &access.found;
    let switches = found.switches.iter();
    let off: Vec<Timestamp> = switches
        .filter(|(_, switch)| *switch == Switch::Off)
        .map(|(time, _)| *time)
        .collect();
    html! {
        p {
            "The access journal of the service has " (number(access.size)) " records, in a tree of "
            "its own with the root " (hash(access.root)) ". The page quotes it: an export of that "
            "journal proves it. It has " (number(number_of_reads)) " reads of sessions in scope, "
            "within the time of the scope, by " (number(readers.len())) " readers."
        }
        @if !readers.is_empty() {
            (table("Readers", &HEADS, html! { @for it in readers.values() { (reader(it)) } }))
            h3 { "Sessions that were read" }
            (of_sessions(told, &readers))
        }
        @for it in &found.missed { (missed(it)) }
        @for time in off {
            p { strong { "The recording of reads was switched off at " (at(time)) "." } }
        }
    }
}

const HEADS: [&str; 6] = [
    "Reader",
    "Door and route",
    "#Without bodies",
    "#With bodies",
    "#Refused",
    "First and last",
];

/// The reads of sessions in scope, within its time, by reader.
fn readers<'a>(told: &Told<'_>, access: &'a AccessJournal) -> BTreeMap<String, Reader<'a>> {
    let scope = &told.contents.request.scope;
    let mut readers: BTreeMap<String, Reader<'a>> = BTreeMap::new();
    for it in &access.found.reads {
        let read = &it.read;
        let is_within = scope.since.is_none_or(|since| it.last >= since)
            && scope.until.is_none_or(|until| it.at < until);
        let in_scope = read.every_session || read.sessions.iter().any(|it| is_in(told, *it));
        if !is_within || !in_scope {
            continue;
        }
        let issuer = read.by.identity.as_ref().map(|it| it.issuer.as_str());
        let key = format!("{} {}", read.by.name, issuer.unwrap_or_default());
        let reader = readers.entry(key).or_default();
        reader.reads.push(it);
        let times = 1 + it.repeats;
        match (read.is_served(), read.depth) {
            (false, Depth::Envelopes | Depth::Bodies) => reader.refused += times,
            (true, Depth::Envelopes) => reader.envelopes += times,
            (true, Depth::Bodies) => reader.bodies += times,
        }
    }
    readers
}

fn is_in(told: &Told<'_>, id: SessionId) -> bool {
    told.contents.sessions.iter().any(|it| it.id == id)
}

fn reader(it: &Reader<'_>) -> Markup {
    let routes: BTreeSet<(&str, &str, &str)> = it
        .reads
        .iter()
        .map(|it| {
            (
                it.read.door.words(),
                it.read.route.as_str(),
                it.read.how.words(),
            )
        })
        .collect();
    let first = it.reads.iter().map(|it| it.at).min();
    let last = it.reads.iter().map(|it| it.last).max();
    html! {
        tr {
            th scope="row" {
                @if let Some(first) = it.reads.first() {
                    (name(&first.read.by)) span.quiet { ", " (verified(&first.read.by)) }
                }
            }
            td {
                @for (door, route, how) in routes {
                    div { (door) ", " code { (said(route)) } ", by " (how) }
                }
            }
            td.number { (number(it.envelopes)) }
            td.number { (number(it.bodies)) }
            td.number { (number(it.refused)) }
            td {
                @if let Some((first, last)) = first.zip(last) {
                    (at(first)) @if last > first { " to " (at(last)) }
                }
            }
        }
    }
}

/// Each session in scope by each reader, who got an answer about it.
fn of_sessions(told: &Told<'_>, readers: &BTreeMap<String, Reader<'_>>) -> Markup {
    let mut rows = Vec::new();
    for reader in readers.values() {
        let mut sessions: BTreeMap<SessionId, OfSession> = BTreeMap::new();
        for it in reader.reads.iter().filter(|it| it.read.is_served()) {
            for id in it.read.sessions.iter().filter(|id| is_in(told, **id)) {
                let of = sessions.entry(*id).or_insert(OfSession {
                    times: 0,
                    depth: it.read.depth,
                    first: it.at,
                    last: it.last,
                });
                of.times += 1 + it.repeats;
                of.depth = of.depth.max(it.read.depth);
                (of.first, of.last) = (of.first.min(it.at), of.last.max(it.last));
            }
        }
        let by = reader.reads.first().map(|it| &it.read.by);
        rows.extend(sessions.into_iter().map(|(id, of)| (id, by, of)));
    }
    rows.sort_by_key(|(id, _, of)| (*id, of.first));
    let heads = ["Session", "Reader", "#Reads", "Depth", "First", "Last"];
    let body = html! {
        @for (id, by, of) in rows.iter().take(ROWS_MAX) {
            tr {
                th scope="row" { (session(*id)) }
                td { @if let Some(by) = by { (name(by)) } }
                td.number { (number(of.times)) }
                td { @match of.depth {
                    Depth::Envelopes => "without bodies",
                    Depth::Bodies => "with bodies",
                } }
                td { (at(of.first)) }
                td { (at(of.last)) }
            }
        }
    };
    html! {
        (table("Sessions that were read", &heads, body))
        @if rows.len() > ROWS_MAX {
            p { strong {
                "The first " (number(ROWS_MAX)) " of " (number(rows.len())) " are shown. "
                "The access journal has all of them."
            } }
        }
        p { "A read of every session, such as a figure, is counted above and not here." }
    }
}

fn missed(it: &Missed) -> Markup {
    html! {
        p { strong {
            (number(it.reads)) " reads between " (at(it.from)) " and " (at(it.until))
            " could not be recorded: " (said(&it.error))
        } }
    }
}
