//! The records that the bundle has, those that it has not, and the reasons.

use std::collections::BTreeMap;

use maud::{Markup, html};
use recount::audit::{Unread, UnreadSession};
use recount_telling::calls::details;

use super::cover::disclosed;
use super::frame::{ROWS_MAX, Section, at, more, number, numbered, said, table};
use super::told::{Told, session};

pub(super) fn scope(told: &Told<'_>) -> Section {
    let contents = told.contents;
    let (request, extent) = (&contents.request, &contents.extent);
    let words = request.scope.in_words();
    let others = extent.sessions.saturating_sub(extent.sessions_in_scope);
    let withheld = extent.records.saturating_sub(extent.disclosed);
    let sealed = contents.sessions.iter().filter(|it| it.sealed).count() as u64;
    let unread: Vec<_> = contents
        .sessions
        .iter()
        .filter_map(|it| it.unread.as_ref())
        .collect();
    let body = html! {
        ul {
            li {
                @if words.is_empty() { "The whole journal is in scope." }
                @else {
                    "Sessions in scope: "
                    @for (index, it) in words.iter().enumerate() {
                        @if index > 0 { "; " }
                        (said(it))
                    }
                    ". A session is in scope as a whole; the calls on this page are those of the "
                    "tools and the time of the scope. "
                    (numbered(others, "session")) " outside the scope: of their records, the "
                    "bundle has only hashes of the tree. That they belong outside is the word of "
                    "the writer."
                }
            }
            li {
                "Content shown: " (disclosed(request.disclose)) ". "
                @if withheld == 0 { "No record in scope is withheld." }
                @else {
                    "Withheld in scope: " (numbered(withheld, "record")) ". Of each, the bundle "
                    "has the envelope (session, number, time, kind, actor, hashes). They are "
                    "counted, and their hashes are proven; what their envelopes say is the word of "
                    "the writer."
                }
            }
            @if !request.redacted.is_empty() {
                li {
                    "Taken out of records: "
                    @for (index, it) in request.redacted.iter().enumerate() {
                        @if index > 0 { ", " }
                        code { (said(it)) }
                    }
                    ". Such a record is withheld, and what remains of its body is the word of the "
                    "writer. The calls that such a record is about are shown by hashes here."
                }
            }
            li {
                "This page also names tools, agents and people of withheld records, and counts "
                "their calls. That is the word of the writer, until the records are shown."
            }
            li {
                "A hash of a short text can be found by trying texts. Withheld arguments are shown "
                "by their hash, so that they can be compared; that hides only what cannot be "
                "guessed."
            }
            li {
                "The journal’s own stream (pauses, erasures, holds, clocks, checkpoints) is always "
                "in scope and shown whole."
            }
            li {
                (numbered(sealed, "session")) " in scope sealed on record: encrypted with a key "
                "outside of the journal. A sealed record is shown as it is stored, which proves it "
                "without disclosing it."
            }
            li {
                "Audio and video are not recorded, only counted. The reasoning inside of a model "
                "is not recorded."
            }
        }
        h3 { "Sessions that could not be read" }
        @if unread.is_empty() { p { "All sessions in scope could be read." } }
        @else { (not_read(&unread)) }
    };
    Section {
        id: "scope",
        title: "Scope and exclusions",
        body,
    }
}

fn not_read(unread: &[&UnreadSession]) -> Markup {
    let mut reasons: BTreeMap<Unread, u64> = BTreeMap::new();
    unread
        .iter()
        .for_each(|it| *reasons.entry(it.why).or_default() += 1);
    let heads = [
        "Session", "From", "To", "#Records", "#Calls", "#Answers", "Reason",
    ];
    html! {
        ul {
            @for (why, count) in &reasons {
                li { (numbered(*count, "session")) ": " (why.in_words()) }
            }
        }
        p {
            "Their calls are in no table of this page. Whether they belong to a scope of agents, "
            "tools or labels is unknown, so they count as in scope. Kinds of records are never "
            "sealed, so calls and answers can be counted."
        }
        (table("Sessions that could not be read", &heads, html! {
            @for it in unread.iter().take(ROWS_MAX) {
                tr {
                    th scope="row" { (session(it.session)) }
                    td { (at(it.first_at)) }
                    td { (at(it.last_at)) }
                    td.number { (number(it.records)) }
                    td.number { (number(it.calls)) }
                    td.number { (number(it.answers)) }
                    td { (it.why.in_words()) (said(&details(it))) }
                }
            }
        }))
        (more(unread.len(), ROWS_MAX))
    }
}
