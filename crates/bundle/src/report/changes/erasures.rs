//! Erasures and legal holds.

use maud::{Markup, html};
use recount::ledger::{Erasure, Hold};
use recount::session::SessionId;

use crate::report::frame::{Section, at, said, table};
use crate::report::told::{Told, name, session, verified};

pub(in crate::report) fn erasures(told: &Told<'_>) -> Section {
    let (erasures, holds) = (&told.contents.own.erasures, &told.contents.own.holds);
    let erased = html! { @for (id, it) in erasures { (erasure(told, *id, it)) } };
    let held = html! { @for it in holds { (hold(it)) } };
    let heads = ["Session", "Requested", "By", "Reason", "Erased"];
    let of_holds = ["#Hold", "Keeps", "By", "Since", "Reason", "Released"];
    let body = html! {
        p {
            "An erasure removes the key of a sealed session. Its records stay in the log and in "
            "the tree, so nothing is missing there. Their bodies cannot be read any more. What "
            "remains is the envelope of each record: session, number, time, kind, kind of actor "
            "and hashes."
        }
        @if erasures.is_empty() { p { "No erasure is on record." } }
        @else { (table("Erasures", &heads, erased)) }
        h3 { "Legal holds" }
        p { "A held session cannot be erased." }
        @if holds.is_empty() { p { "No legal hold is on record." } }
        @else { (table("Legal holds", &of_holds, held)) }
    };
    Section {
        id: "erasures",
        title: "Erasures and legal holds",
        body,
    }
}

fn erasure(told: &Told<'_>, id: SessionId, it: &Erasure) -> Markup {
    let in_scope = told
        .contents
        .sessions
        .iter()
        .any(|session| session.id == id);
    html! {
        tr {
            th scope="row" {
                (session(id)) @if !in_scope { span.quiet { ", outside the scope" } }
            }
            td { (at(it.requested_at_us)) ", record " (it.requested) }
            td { (name(&it.by)) span.quiet { ", " (verified(&it.by)) } }
            td { (said(&it.reason)) }
            td {
                @match (it.erased_at_us, it.erased) {
                    (Some(time), Some(record)) => { (at(time)) ", record " (record) },
                    (Some(_), None) | (None, _) => strong { "interrupted, not erased" },
                }
            }
        }
    }
}

fn hold(it: &Hold) -> Markup {
    html! {
        tr {
            td.number { (it.id) }
            td { (said(&it.target.to_string())) }
            td { (name(&it.by)) span.quiet { ", " (verified(&it.by)) } }
            td { (at(it.since)) }
            td { (said(&it.reason)) }
            td {
                @match &it.released {
                    Some(end) => {
                        (at(end.at)) " by " (name(&end.by)) ": " (said(&end.reason))
                        ", record " (end.record)
                    },
                    None => strong { "in force" },
                }
            }
        }
    }
}
