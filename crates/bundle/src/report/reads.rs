//! The reads of recorded sessions, from the access journal.

use std::collections::BTreeMap;

use maud::{Markup, html};
use recount::session::SessionId;
use recount_reads::{Depth, Door, How, OnRecord, RecordedRead, Switch};

use super::frame::{Section, at, number, numbered, said, table};
use super::told::{Told, name, session};

/// The maximum number of reads that have a row.
const READS_MAX: usize = 1_000;

/// The number of sessions that a row names.
const SESSIONS_MAX: usize = 3;

pub(super) fn reads(told: &Told<'_>) -> Section {
    let body = html! {
        p {
            "Reads through a service are on record in its access journal. Commands of the owner "
            "that read the files themselves, such as the one that wrote this bundle, are not."
        }
        @match &told.contents.reads {
            Some(found) => (on_record(told, found)),
            None => p {
                strong { "No access journal was given." }
                " Who read the sessions is not known here."
            },
        }
    };
    Section {
        id: "reads",
        title: "Reads",
        body,
    }
}

fn on_record(told: &Told<'_>, found: &OnRecord) -> Markup {
    html! {
        p {
            "The access journal is a journal of its own, with a tree of its own. Its records are "
            "not in this bundle: what follows is the word of the writer."
        }
        (gaps(found))
        @if found.reads.is_empty() { p { "No read of a session in scope is on record." } }
        @else {
            (by_reader(&found.reads))
            (listed(told, &found.reads))
        }
    }
}

/// The times without a record: missed reads, and services that recorded none.
fn gaps(found: &OnRecord) -> Markup {
    let offs = found.switches.iter().filter(|(_, it)| *it == Switch::Off);
    let offs: Vec<_> = offs.map(|(time, _)| *time).collect();
    html! {
        @if found.missed.is_empty() && offs.is_empty() {
            p { "No read is known to be missing." }
        } @else {
            ul {
                @for it in &found.missed {
                    li {
                        strong { (numbered(it.reads, "read")) " missing" } ", from " (at(it.from))
                        " to " (at(it.until)) ": " (said(&it.error))
                    }
                }
                @for time in offs {
                    li {
                        (at(time)) ": a service began whose configuration switches the record of "
                        "reads off"
                    }
                }
            }
        }
    }
}

/// The number of reads by reader and depth, with repeated ones.
fn by_reader(reads: &[RecordedRead]) -> Markup {
    let mut readers: BTreeMap<_, [u64; 3]> = BTreeMap::new();
    for it in reads {
        let column = match it.read.depth {
            _ if !it.read.is_served() => 2,
            Depth::Envelopes => 0,
            Depth::Bodies => 1,
        };
        let counts = readers.entry(&it.read.by).or_default();
        if let Some(count) = counts.get_mut(column) {
            *count += 1 + it.repeats;
        }
    }
    let sum = |column: usize| {
        readers
            .values()
            .filter_map(|it| it.get(column))
            .sum::<u64>()
    };
    let sums = [sum(0), sum(1), sum(2)];
    let heads = ["Reader", "#Envelopes", "#With content", "#Refused", "#All"];
    let row = |counts: &[u64; 3]| {
        html! {
            @for count in counts { td.number { (number(count)) } }
            td.number { (number(counts.iter().sum::<u64>())) }
        }
    };
    table(
        "Reads by reader",
        &heads,
        html! {
            @for (by, counts) in &readers { tr { th scope="row" { (name(by)) } (row(counts)) } }
            tr.sum { th scope="row" { "All" } (row(&sums)) }
        },
    )
}

fn listed(told: &Told<'_>, reads: &[RecordedRead]) -> Markup {
    let heads = ["Time", "Reader", "Door", "Sessions", "Depth", "#Status"];
    html! {
        (table("Reads", &heads, html! {
            @for it in reads.iter().take(READS_MAX) { (one(told, it)) }
        }))
        @if reads.len() > READS_MAX {
            p { strong {
                "The first " (number(READS_MAX)) " of " (number(reads.len())) " are shown. "
                "recount reads lists all of them."
            } }
        }
    }
}

fn one(told: &Told<'_>, it: &RecordedRead) -> Markup {
    let read = &it.read;
    let depth = match read.depth {
        Depth::Envelopes => "envelopes",
        Depth::Bodies => "with content",
    };
    let door = match read.door {
        Door::Http => "HTTP API",
        Door::Pages => "page",
        Door::Control => "control socket",
    };
    html! {
        tr {
            td {
                (at(it.at))
                @if it.repeats > 0 {
                    ", " (numbered(it.repeats, "more read")) ", the last " (at(it.last))
                }
            }
            td {
                (name(&read.by)) span.quiet { ", " (how(read.how)) }
                @if let Some(issuer) = read.by.issuer() { span.quiet { " of " (said(issuer)) } }
            }
            td { (door) " " code { (said(&read.route)) } }
            td { (sessions(told, it)) }
            td { (depth) }
            td.number { (read.status) }
        }
    }
}

/// The words for how a reader proved who it is.
fn how(how: How) -> &'static str {
    match how {
        How::Token => "a token of the service",
        How::Jwt => "a JWT",
        How::Proxy => "a reverse proxy",
        How::Embedder => "the embedding service",
        How::Login => "a one-time login",
        How::LoginWithToken => "a login with a token",
        How::ControlToken => "the user of the service",
    }
}

/// The sessions in scope that an answer had something of.
fn sessions(told: &Told<'_>, it: &RecordedRead) -> Markup {
    let in_scope = |id: &&SessionId| told.contents.has_session(**id);
    let found: Vec<_> = it.read.sessions.iter().filter(in_scope).collect();
    html! {
        @if it.read.every_session { "every session that the reader may see" }
        @for (index, id) in found.iter().take(SESSIONS_MAX).enumerate() {
            @if index > 0 { ", " }
            (session(**id))
        }
        @if found.len() > SESSIONS_MAX { " and " (number(found.len() - SESSIONS_MAX)) " more" }
    }
}
