//! Standing leaves in force, each with its end.

use std::fmt::Write;

use maud::{Markup, html};
use recount::ledger::LeaveInForce;
use recount::session::{AllowFor, Timestamp};

use super::cells::{ROWS_MAX, agent, more, section, session, table, tool, who};
use crate::access::Role;
use crate::pages::frame::{Frame, relative};
use crate::routes::Caller;

const HEADS: [&str; 8] = [
    "Tool", "Agent", "Session", "Given by", "Given", "Used", "Ends", "Revoke",
];

pub(super) fn shown(
    caller: &Caller,
    frame: &Frame,
    leaves: &[LeaveInForce],
    now: Timestamp,
) -> Markup {
    let mut state = String::new();
    for leave in leaves {
        // Writing to a string does not fail.
        let _ = write!(state, "{}.{} ", leave.session, leave.leave);
    }
    let body = html! {
        @if leaves.is_empty() { p.quiet { "No standing leave is in force." } }
        @else {
            p.quiet {
                "A standing leave is an approval that also allows later calls of its tool in its "
                "session."
            }
            (table("Standing leaves", &HEADS, 5..6, html! {
                @for leave in leaves.iter().take(ROWS_MAX) { (one(caller, frame, leave, now)) }
            }))
            (more(leaves.len()))
        }
    };
    section("leaves", "Standing leaves", &state, body)
}

fn one(caller: &Caller, frame: &Frame, leave: &LeaveInForce, now: Timestamp) -> Markup {
    let may_revoke = caller.principal.role_in(&leave.agent, &leave.labels) >= Some(Role::Approver);
    html! {
        tr {
            td { (tool(&leave.tool)) }
            td { (agent(&leave.agent)) }
            td { (session(frame, leave.session, leave.external_id.as_deref())) }
            td {
                @for (at, by) in leave.by.iter().enumerate() {
                    @if at > 0 { ", " }
                    (who(by))
                }
            }
            td { (relative(leave.since, now)) }
            td.number {
                (leave.used)
                @if let Some(count) = leave.count() { " of " (count) }
            }
            td {
                @match leave.allow_for {
                    AllowFor::Until(until) => (relative(until, now)),
                    AllowFor::Count(_) => span.quiet { "by its number" },
                }
            }
            td {
                @if may_revoke { (revoking(frame, leave)) }
                @else { span.quiet { "not yours" } }
            }
        }
    }
}

/// The form that revokes a leave.
fn revoking(frame: &Frame, leave: &LeaveInForce) -> Markup {
    let id = format!("revoke-{}-{}", leave.session, leave.leave);
    let fields = html! {
        input type="hidden" name="session" value=(leave.session);
        input type="hidden" name="leave" value=(leave.leave);
        label for={ (id) "-reason" } { "Reason (optional)" }
        input id={ (id) "-reason" } name="reason" maxlength="2000" autocomplete="off";
        p { button.stop { "Revoke" } }
    };
    html! {
        details id=(id) {
            summary { "Revoke" }
            (frame.form("operations/revoke", fields))
        }
    }
}
