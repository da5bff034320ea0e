//! A standing leave as JSON.

use serde::Serialize;

use crate::session::{Actor, AllowFor, LeaveEnd, Seq, StandingLeave, Timestamp};

/// A standing leave, keyed by the answer that gave it.
#[derive(Serialize)]
pub(super) struct LeaveView<'s> {
    tool: &'s str,
    request: Seq,
    allow_for: AllowFor,
    used: u32,
    in_force: bool,
    by: &'s [Actor],
    /// The end before its bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<&'s LeaveEnd>,
}

impl<'s> LeaveView<'s> {
    pub(super) fn of(leave: &'s StandingLeave, now: Timestamp) -> LeaveView<'s> {
        LeaveView {
            tool: &leave.tool,
            request: leave.request,
            allow_for: leave.allow_for,
            used: leave.used,
            in_force: leave.is_in_force(now),
            by: &leave.by,
            ended: leave.ended.as_ref(),
        }
    }
}
