//! The first page: what the report is about, and the verdict.

use maud::{Markup, html};

use super::frame::{at, facts, hash, number, numbered, said};
use super::told::Told;
use crate::disclosure::Disclose;

pub(super) fn cover(told: &Told<'_>) -> Markup {
    let contents = told.contents;
    let (request, extent) = (&contents.request, &contents.extent);
    let origin = contents
        .own
        .checkpoints
        .last()
        .map(|it| it.checkpoint.origin.as_str());
    let journal = contents.statements.journal.as_deref();
    let rows = [
        (
            "Journal",
            html! {
                @match journal.or(origin) {
                    Some(name) => (said(name)),
                    None => span.quiet { "not named" },
                }
            },
        ),
        (
            "Origin in checkpoints",
            html! {
                @match origin {
                    Some(origin) => (said(origin)),
                    None => span.quiet { "no checkpoint is on record" },
                }
            },
        ),
        ("Scope", scope(told)),
        ("Content shown", html! { (disclosed(request.disclose)) }),
        ("Sessions from", period(told)),
        (
            "Size",
            html! {
                (numbered(extent.size, "record")) " of " (numbered(extent.sessions, "session"))
            },
        ),
        ("Root of the tree", hash(extent.root)),
        (
            "Signing keys live",
            html! {
                @match &contents.statements.keys_live {
                    Some(place) => { "as the operator states: " (said(place)) },
                    None => span.quiet { "not stated" },
                }
            },
        ),
        (
            "Written",
            html! {
                (at(request.written_at)) " by " (said(&request.written_by.program))
            },
        ),
        ("Program file", program(told)),
    ];
    html! {
        h1 { "Evidence report" }
        p.quiet { "What an AI agent’s tools did, and who allowed it: records of one journal." }
        (verdict(told))
        (facts(&rows))
    }
}

/// The verdict, and what it does not cover.
fn verdict(told: &Told<'_>) -> Markup {
    let (extent, places) = (&told.contents.extent, &told.contents.places);
    let records = numbered(extent.size, "record");
    html! {
        @match told.contents.statements.anchored {
            Some(size) => {
                p.verdict {
                    "Verdict: "
                    strong {
                        "Sound, anchored to the checkpoint of " (numbered(size, "record")) "."
                    }
                    " The first " (number(size)) " of " (records) " are those of a checkpoint that "
                    "was kept outside of the journal, as the writer of this bundle states. Later "
                    "ones are only consistent. Check it with your own copy: see "
                    a href="#checking" { "How to check this bundle" } "."
                }
            },
            None => {
                p.verdict {
                    "Verdict: " strong { "Consistent, not anchored." }
                    " The files of this bundle agree with each other, for " (records) ", as you "
                    "can check. Nothing from outside of the journal was given."
                }
                p.warn {
                    strong { "Completeness is not shown." }
                    " Without an earlier checkpoint that was kept elsewhere, or a public key that "
                    "you got elsewhere, the writer of this bundle could have left out or made up "
                    "any record. "
                    @match places.signed() {
                        Some(size) => {
                            "The bundle has signed checkpoints; the latest covers the first "
                            (number(size)) " records. Check them with your own copy of the key, or "
                            "compare them with a checkpoint that you kept: see "
                            a href="#checking" { "How to check this bundle" } "."
                        },
                        None => "The journal has no signed checkpoint.",
                    }
                }
            },
        }
    }
}

fn scope(told: &Told<'_>) -> Markup {
    let words = told.contents.request.scope.in_words();
    html! {
        @if words.is_empty() { "the whole journal" }
        @else { @for (index, it) in words.iter().enumerate() {
            @if index > 0 { "; " }
            (said(it))
        } }
        ": " (numbered(told.contents.extent.sessions_in_scope, "session")) ", "
        (numbered(told.calls.len() as u64, "call"))
    }
}

/// The words for the amount of content.
pub(super) fn disclosed(disclose: Disclose) -> &'static str {
    match disclose {
        Disclose::None => "none of the sessions: envelopes and hashes only",
        Disclose::Approvals => {
            "of the calls that a person was asked about or that a standing leave allowed; of other \
             records of people and models, envelopes and hashes only"
        }
        Disclose::All => "of all records in scope",
    }
}

fn period(told: &Told<'_>) -> Markup {
    let first = told.contents.sessions.iter().map(|it| it.first_at).min();
    let last = told.contents.sessions.iter().map(|it| it.last_at).max();
    match first.zip(last) {
        Some((first, last)) => html! { (at(first)) " to " (at(last)) },
        None => html! { "no session is in scope" },
    }
}

fn program(told: &Told<'_>) -> Markup {
    match told.contents.request.written_by.sha256 {
        Some(sha256) => html! { "SHA-256 " (hash(sha256)) },
        None => html! { span.quiet { "its hash is not known" } },
    }
}
