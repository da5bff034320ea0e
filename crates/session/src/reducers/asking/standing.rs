//! Standing leaves: an answer that also allows later calls of its tool.
//!
//! ```text
//! confirmation_answered {allow_for} ─▶ in force ─┬─ leave_used ─▶ Permitted (until count or time)
//!                                                ├─ leave_revoked ──▶ ended
//!                                                └─ other contract or policy ──▶ ended
//! ```
//!
//! A leave is used up at the verdict, not at the start. The start checks that the leave was neither
//! revoked nor ended since. A call that is already waiting when the leave is given keeps waiting,
//! because its approver sees its arguments.

use crate::calls::call::{Call, Leave, Phase};
use crate::record::approvals::standing::AllowFor;
use crate::record::decision::LeaveUsed;
use crate::record::observation::{ConfirmationAnswered, LeaveRevoked};
use crate::state::session::Session;
use crate::state::standing::{LeaveEnd, StandingLeave, permits, policy_hash};
use crate::values::id::Seq;

/// Folds the leave that an approval gives, if the tool's policy permits one.
///
/// The call is still in the phase before the answer, and the request has the approvals before this
/// one. With a quorum each approval must have a bound, and the least of them holds.
pub(crate) fn given(session: &mut Session, at: Seq, call: Seq, it: &ConfirmationAnswered) {
    let gives = it.confirmed && it.edited_args.is_none() && !it.by.is_program();
    let Some(own) = it.allow_for.filter(|_| gives) else {
        return;
    };
    let request = session.requests.get(&it.request);
    let asking = request.and_then(|request| request.asking.as_deref());
    let before = asking.map_or([].as_slice(), |asking| asking.given.as_slice());
    let mut bounds = before.iter().map(|approval| approval.allow_for);
    let Some(allow_for) = bounds.try_fold(own, |least, bound| least.least(bound?)) else {
        return;
    };
    // The entry point checks the bound by its clock, just before the record is made.
    if allow_for.unfit_at(session.at).is_some() {
        return;
    }
    let givers = before.iter().map(|approval| &approval.by);
    let by = givers.chain([&it.by]).cloned().collect();
    let needs = asking.map(|asking| Box::new(asking.needs.clone()));
    let Some(call) = session.calls.get(&call) else {
        return;
    };
    let contract = session.terms.contract(&call.name);
    let Some(contract) = contract.filter(|it| call.contract == Some(*it) && permits(session, call))
    else {
        return;
    };
    let leave = StandingLeave {
        tool: call.name.clone(),
        request: it.request,
        contract,
        policy: policy_hash(session.terms.policies.of(&call.name)),
        allow_for,
        used: 0,
        by,
        needs,
        since: session.at,
        ended: None,
    };
    session.leaves.insert(at, leave);
}

/// The use of a leave that allows this gated call, if there is one. The oldest leave comes first.
pub(crate) fn covers(session: &Session, seq: Seq, call: &Call) -> Option<LeaveUsed> {
    let mut leaves = session.leaves.iter();
    let (given, leave) = leaves.find(|(at, it)| it.covers(**at, seq, call, session.at))?;
    // The contract in force ends other leaves when it is declared. This check costs little.
    session
        .terms
        .contract(&call.name)
        .filter(|it| *it == leave.contract)?;
    let (count, until_us) = match leave.allow_for {
        AllowFor::Count(count) => (Some(count), None),
        AllowFor::Until(until) => (None, Some(until)),
    };
    Some(LeaveUsed {
        call: seq,
        leave: *given,
        nth: leave.used.saturating_add(1),
        count,
        until_us,
    })
}

pub(crate) fn used(session: &mut Session, it: &LeaveUsed) {
    if let Some(leave) = session.leaves.get_mut(&it.leave) {
        leave.used = it.nth;
    }
    let leave = Leave::Standing(it.leave);
    session.calls.set_phase(it.call, Phase::Permitted { leave });
}

/// True if the leave still permits the start of a call that it has allowed.
pub(crate) fn holds(session: &Session, leave: Seq) -> bool {
    let leave = session.leaves.get(&leave);
    leave.is_some_and(|it| it.holds(session.at))
}

pub(crate) fn revoked(session: &mut Session, at: Seq, it: &LeaveRevoked) {
    if let Some(leave) = session.leaves.get_mut(&it.leave)
        && leave.ended.is_none()
    {
        let by = it.by.clone();
        leave.ended = Some(LeaveEnd::Revoked { at, by });
    }
}

#[cfg(test)]
#[path = "standing_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod tests;
