//! The records after which a waiting request looks again.

use recount::ledger::Ledger;
use recount::session::SessionId;
use recount_journal::{Commit, Error};

/// The kinds of records after which a call may have become claimable.
///
/// A call is made ready by a decision or by the end of a claim or a pause. It also becomes
/// claimable by another catalog, by a lease that passed, and by the end of an equal call.
const CLAIMABLE_AFTER: [&str; 9] = [
    "call_ready",
    "claim_ended",
    "deadline_passed",
    "unpaused",
    "catalog_changed",
    "runner_attached",
    "response_issued",
    "call_cancelled",
    "outcome_found",
];

/// The kinds of records that may end a call.
const ENDS: [&str; 2] = ["response_issued", "call_cancelled"];

/// The kinds of records after which the open work, its runners, the pauses or the leaves of a
/// session may be others.
const OPERATIONS_AFTER: [&str; 29] = [
    "session_opened",
    "session_closed",
    "runner_attached",
    "runner_detached",
    "catalog_changed",
    "paused",
    "unpaused",
    "leave_used",
    "leave_revoked",
    "function_call_received",
    "call_ready",
    "call_started",
    "call_claimed",
    "lease_renewed",
    "claim_ended",
    "deadline_passed",
    "retry_scheduled",
    "tool_paused",
    "response_supplied",
    "confirmation_requested",
    "confirmation_answered",
    "approval_given",
    "confirmation_expired",
    "confirmation_withdrawn",
    "confirmation_reopened",
    "outcome_found",
    "outcome_reconciled",
    "response_issued",
    "call_cancelled",
];

/// The kinds of records in the journal's own stream after which the erasures or the holds are
/// others.
const KEYS_AFTER: [&str; 4] = [
    "erasure_requested",
    "session_erased",
    "hold_placed",
    "hold_released",
];

/// Waits for a commit that wakes a request. Returns its position.
pub(crate) async fn wake_after(
    ledger: &Ledger,
    mut position: u64,
    wakes: impl Fn(&Commit) -> bool,
) -> Result<u64, Error> {
    loop {
        let commit = ledger.journal().follow(position).await?;
        position = commit.position;
        if wakes(&commit) {
            return Ok(position);
        }
    }
}

/// True if a call may have become claimable with the commit.
pub(crate) fn may_be_claimable(commit: &Commit) -> bool {
    has(commit, None, &CLAIMABLE_AFTER)
}

/// True if the open work, its runners, the pauses, the leaves, the erasures or the holds may be
/// others since the commit.
pub(crate) fn changes_operations(commit: &Commit) -> bool {
    has(commit, None, &OPERATIONS_AFTER) || has(commit, None, &KEYS_AFTER)
}

/// True if the commit has records of the session.
pub(crate) fn concerns(commit: &Commit, session: SessionId) -> bool {
    commit.appends.iter().any(|(of, _)| *of == session.0)
}

/// True if a call of the session may have ended with the commit.
pub(crate) fn ends_a_call(commit: &Commit, session: SessionId) -> bool {
    has(commit, Some(session), &ENDS)
}

fn has(commit: &Commit, only: Option<SessionId>, kinds: &[&str]) -> bool {
    let appends = commit.appends.iter();
    let mut appends = appends.filter(|(of, _)| only.is_none_or(|only| only.0 == *of));
    appends.any(|(_, lines)| {
        // A record that cannot be parsed wakes, too: the look reports its error.
        let mut records = lines.iter().map(|line| line.record());
        records.any(|it| it.map_or(true, |it| kinds.contains(&it.kind)))
    })
}

#[cfg(test)]
mod tests {
    use recount::session::Event;

    use super::*;

    #[test]
    fn kinds_are_those_of_events() {
        let all = CLAIMABLE_AFTER.iter().chain(&ENDS);
        for kind in all.chain(&OPERATIONS_AFTER) {
            assert!(Event::is_known(kind), "{kind}");
        }
    }
}
