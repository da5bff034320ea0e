//! Calls that clients run: claims, leases, and results that come late.
//!
//! ```text
//! Ready ─ call_claimed ─▶ call_started ─▶ Running ─┬─ tool_returned ─▶ Returned
//!   ▲                                              ├─ claim_ended, not begun ─▶ as before
//!   │                                              └─ lease passed, claim_ended ─▶ InDoubt
//!   └── claimed again, if the tool's rule is `retry` ──────────────────────────────┤
//!                      Found ◀─ outcome_found, while nothing has decided since ────┘
//! ```
//!
//! A client is no runner. So a change of the runner, of the process or of the catalog never puts
//! its run in doubt. Every claim is for one attempt, and attempts never repeat: a report of an
//! older attempt has no effect.

use super::attempts::{running, time_limit};
use crate::calls::call::{Call, Phase};
use crate::calls::claim::{Claim, ClaimState};
use crate::record::decision::{CallStarted, CancelReason, Decision, Outcome};
use crate::record::finding::Finding;
use crate::record::observation::{ClaimEnded, Deadline, LeaseRenewed, OutcomeFound};
use crate::reducers::earlier::cache;
use crate::state::effect::Effect;
use crate::state::session::Session;
use crate::values::id::Seq;

/// True if the tool of the call is declared as run by clients.
pub(crate) fn is_for_clients(session: &Session, call: &Call) -> bool {
    let declared = session.terms.catalog.tools.get(&call.name);
    declared.is_some_and(|it| it.kind.runs_at_client())
}

/// True if a client runs the call now.
pub(crate) fn runs_at_client(session: &Session, call: Seq) -> bool {
    let call = session.calls.get(&call);
    call.is_some_and(|call| call.held_claim().is_some())
}

/// The next start of a call at a client. It needs a claim, but neither a runner nor a slot.
pub(crate) fn started(session: &Session, seq: Seq, call: &Call) -> Option<Decision> {
    let next = call.attempts.saturating_add(1);
    let claim = call.held_claim().filter(|claim| claim.attempt == next)?;
    let started = CallStarted {
        call: seq,
        attempt: next,
        runner: claim.at,
        deadline_us: time_limit(session, &call.name).map(|it| session.at.after(it)),
    };
    Some(started.into())
}

pub(crate) fn lease_renewed(session: &mut Session, it: &LeaseRenewed) {
    let now = session.at;
    if let Some(claim) = held(session, it.call, it.attempt, &it.claim)
        && claim.is_by(&it.by)
        && now < claim.until
    {
        claim.until = claim.until.max(it.until_us);
    }
}

/// Folds the end of a claim: the call is ready again, or in doubt.
pub(crate) fn claim_ended(session: &mut Session, it: &ClaimEnded) {
    if held(session, it.call, it.attempt, &it.claim).is_none() {
        return;
    }
    if !it.not_begun {
        return lapse(session, it.call, it.attempt);
    }
    let Some(call) = running(session, it.call, it.attempt) else {
        return;
    };
    if let Phase::Running {
        leave,
        out_of_doubt,
        ..
    } = call.phase
    {
        call.phase = if out_of_doubt {
            Phase::InDoubt { leave }
        } else {
            Phase::Ready { leave }
        };
        call.given_back = call.given_back.saturating_add(1);
        call.set_claim_state(ClaimState::Done);
        let key = call.cache_key;
        cache::stopped(session, it.call, key);
    }
}

/// Folds the end of a lease. A deadline from before a renewal has no effect.
pub(crate) fn lease_passed(session: &mut Session, call: Seq, attempt: u32) {
    let now = session.at;
    let held = session.calls.get(&call).and_then(Call::held_claim);
    if held.is_some_and(|claim| claim.attempt == attempt && claim.until <= now) {
        lapse(session, call, attempt);
    }
}

/// Puts a run at a client in doubt. The tool's rule applies from here on.
fn lapse(session: &mut Session, call: Seq, attempt: u32) {
    if let Some(call) = running(session, call, attempt)
        && let Phase::Running { leave, .. } = call.phase
    {
        call.phase = Phase::InDoubt { leave };
        call.set_claim_state(ClaimState::Lapsed);
    }
}

fn held<'s>(
    session: &'s mut Session,
    call: Seq,
    attempt: u32,
    claim: &str,
) -> Option<&'s mut Claim> {
    let call = session.calls.get_mut(&call)?;
    call.held_claim()?;
    let held = call.claim.as_deref_mut()?;
    (held.attempt == attempt && held.claim == claim).then_some(held)
}

/// True if a late result of this attempt still settles the doubt about the open call.
pub(crate) fn settles(call: &Call, attempt: u32) -> bool {
    let lapsed = call.claim.as_deref().is_some_and(|claim| {
        claim.state == ClaimState::Lapsed && claim.attempt == attempt && call.attempts == attempt
    });
    let undecided = match &call.phase {
        Phase::InDoubt { .. } | Phase::Ready { .. } | Phase::Retrying { .. } => true,
        Phase::AwaitingConfirmation {
            expired, in_place, ..
        } => !*expired && in_place.is_none(),
        Phase::Received
        | Phase::AwaitingHook
        | Phase::AwaitingVerdict
        | Phase::Refused { .. }
        | Phase::Gated
        | Phase::Asking { .. }
        | Phase::Withdrawn
        | Phase::Approved { .. }
        | Phase::Unanswered { .. }
        | Phase::Denied { .. }
        | Phase::Permitted { .. }
        | Phase::Running { .. }
        | Phase::AwaitingCalls { .. }
        | Phase::Paused { .. }
        | Phase::Returned { .. }
        | Phase::Supplied { .. }
        | Phase::Found { .. }
        | Phase::TimedOut { .. } => false,
    };
    lapsed && undecided && call.cancel.is_none()
}

/// Folds a result that came after its lease, while the call is open. A question about the doubt is
/// withdrawn.
pub(crate) fn outcome_found(session: &mut Session, at: Seq, it: &OutcomeFound) {
    let Some(attempt) = it.attempt else {
        return;
    };
    let Some(call) = session.calls.get_mut(&it.call) else {
        return;
    };
    if !settles(call, attempt) {
        return;
    }
    if let Phase::AwaitingConfirmation { request, .. } = call.phase {
        call.moot = Some((request, CancelReason::ToolEnded));
    }
    call.phase = Phase::Found {
        of: at,
        failed: match &it.found {
            Finding::Done(_) => None,
            Finding::Failed(reason) => Some(reason.clone()),
        },
    };
    call.set_claim_state(ClaimState::Done);
    let key = call.cache_key;
    cache::stopped(session, it.call, key);
}

impl Session {
    /// The last claims of clients that did not report, of open calls and of those that ended with
    /// an unknown outcome.
    #[doc(hidden)]
    pub fn lapsed_claims(&self) -> impl Iterator<Item = (Seq, &Claim)> {
        let open = self.calls.iter().filter_map(|(call, it)| {
            let claim = it.claim.as_deref()?;
            (claim.state == ClaimState::Lapsed).then_some((*call, claim))
        });
        open.chain(self.lapsed.iter().map(|(call, it)| (*call, it)))
    }
}

/// True if a call that ended with an unknown outcome still takes a late result of this start.
pub(crate) fn may_settle_later(session: &Session, call: Seq, attempt: u32) -> bool {
    let lapsed = session.lapsed.get(&call);
    lapsed.is_some_and(|claim| claim.attempt == attempt)
}

/// Keeps the claim of a call that ends with an unknown outcome, for a result that comes later. The
/// claim must be of the newest start, because a later one may have run at a runner.
pub(crate) fn settled(session: &mut Session, seq: Seq, call: &Call, outcome: Outcome) {
    let unknown = match outcome {
        Outcome::Unknown | Outcome::TimedOut => true,
        Outcome::Interim
        | Outcome::Returned
        | Outcome::Failed
        | Outcome::Supplied
        | Outcome::Refused
        | Outcome::Denied
        | Outcome::Expired
        | Outcome::Cancelled
        | Outcome::Withdrawn => false,
    };
    if let Some(claim) = call.claim.as_deref()
        && claim.state == ClaimState::Lapsed
        && claim.attempt == call.attempts
        && unknown
    {
        session.lapsed.insert(seq, claim.clone());
    }
}

/// The timers of a run at a client: its lease, and the time limit of the tool.
pub(crate) fn owed(seq: Seq, call: &Call, effects: &mut Vec<Effect>) {
    let (
        Some(claim),
        Phase::Running {
            attempt, deadline, ..
        },
    ) = (call.held_claim(), &call.phase)
    else {
        return;
    };
    let attempt = *attempt;
    if let Some(due_us) = *deadline {
        effects.push(Effect::ArmTimer {
            deadline: Deadline::Run { call: seq, attempt },
            due_us,
        });
    }
    effects.push(Effect::ArmTimer {
        deadline: Deadline::Lease { call: seq, attempt },
        due_us: claim.until,
    });
}

#[cfg(test)]
#[path = "claims_tests.rs"]
#[expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may fail"
)]
mod tests;

#[cfg(test)]
#[path = "claim_guard_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod guard_tests;
