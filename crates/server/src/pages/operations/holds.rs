//! Legal holds in force, each with its release.

use std::fmt::Write;

use maud::{Markup, html};
use recount::ledger::{Hold, HoldTarget};
use recount::session::Timestamp;

use super::cells::{ROWS_MAX, more, section, session, table, who};
use crate::pages::frame::{Frame, relative, said};
use crate::problems::Problem;
use crate::routes::Caller;
use crate::routes::holds::expect_operator;

const HEADS: [&str; 6] = ["Hold", "Keeps", "By", "Since", "Reason", "Release"];

/// A hold in force, and true if the person may release it.
pub(super) struct Row {
    hold: Hold,
    may_release: bool,
}

pub(super) async fn rows(caller: &Caller, holds: Vec<Hold>) -> Result<Vec<Row>, Problem> {
    let mut rows = Vec::with_capacity(holds.len());
    for hold in holds {
        let may_release = expect_operator(caller, &hold.target).await.is_ok();
        rows.push(Row { hold, may_release });
    }
    Ok(rows)
}

pub(super) fn shown(frame: &Frame, rows: &[Row], now: Timestamp) -> Markup {
    let mut state = String::new();
    for row in rows {
        // Writing to a string does not fail.
        let _ = write!(state, "{} ", row.hold.id);
    }
    let body = html! {
        @if rows.is_empty() { p.quiet { "No session is under a legal hold." } }
        @else {
            p.quiet { "A held session cannot be erased." }
            (table("Legal holds", &HEADS, 0..1, html! {
                @for row in rows.iter().take(ROWS_MAX) { (one(frame, row, now)) }
            }))
            (more(rows.len()))
        }
    };
    section("holds", "Legal holds", &state, body)
}

fn one(frame: &Frame, row: &Row, now: Timestamp) -> Markup {
    let Row { hold, may_release } = row;
    html! {
        tr {
            td.number { (hold.id) }
            td {
                @match &hold.target {
                    HoldTarget::Session(id) => (session(frame, *id, None)),
                    HoldTarget::Label { key, value } => {
                        "all with " (said(key)) "=" (said(value))
                    }
                }
            }
            td { (who(&hold.by)) }
            td { (relative(hold.since, now)) }
            td { (said(&hold.reason)) }
            td {
                @if *may_release { (releasing(frame, hold)) }
                @else { span.quiet { "not yours" } }
            }
        }
    }
}

/// The form that releases a hold.
fn releasing(frame: &Frame, hold: &Hold) -> Markup {
    let id = format!("unhold-{}", hold.id);
    let fields = html! {
        input type="hidden" name="hold" value=(hold.id);
        label for={ (id) "-reason" } { "Reason" }
        input id={ (id) "-reason" } name="reason" required maxlength="2000" autocomplete="off";
        p { button.stop { "Release" } }
    };
    html! {
        details id=(id) {
            summary { "Release" }
            (frame.form("operations/unhold", fields))
        }
    }
}
