//! The checkpoints of the journal and their anchors, for an operator of all sessions.

use maud::{Markup, html};
use recount::session::Timestamp;
use recount_evidence::{AnchorStatus, EvidenceStatus};
use recount_telling::count;

use super::cells::{section, table};
use crate::pages::frame::{relative, said};

const ANCHORS: [&str; 4] = ["Anchor", "Kind", "Behind", "State"];

pub(super) fn shown(status: &EvidenceStatus, now: Timestamp) -> Markup {
    let body = html! {
        @match &status.last {
            None => p { "No checkpoint was made yet." },
            Some(last) => p {
                "The last checkpoint is about " (count(last.size, "record")) ", made "
                (relative(last.at, now)) " and signed by " (said(&last.signers.join(", "))) ". "
                (count(status.records_since, "record")) " came after it."
            },
        }
        @if let Some(since) = status.failing_since {
            p {
                span.badge.bad { "a signature is missing since " (relative(since, now)) }
                @if let Some(error) = &status.error { " " (said(error)) }
            }
        }
        @if let Some(error) = &status.tree_error {
            p.quiet { "The tree is not kept beside the journal: " (said(error)) }
        }
        @if status.anchors.is_empty() {
            p.quiet { "No anchor is configured: keep copies of checkpoints elsewhere." }
        } @else {
            (table("Anchors", &ANCHORS, 2..3, html! {
                @for anchor in &status.anchors { (one(anchor, now)) }
            }))
        }
    };
    section("checkpoints", "Checkpoints", "", body)
}

fn one(anchor: &AnchorStatus, now: Timestamp) -> Markup {
    html! {
        tr {
            td { (said(&anchor.name)) }
            td { (anchor.kind) }
            td.number { (anchor.behind) }
            td {
                @match anchor.failing_since {
                    None => span.badge.good { "takes checkpoints" },
                    Some(since) => span.badge.bad { "fails since " (relative(since, now)) },
                }
                @if let Some(error) = &anchor.error { p.quiet { (said(error)) } }
            }
        }
    }
}
