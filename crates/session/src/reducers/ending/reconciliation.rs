//! The outcome of a call that ended as unknown, found later.
//!
//! ```text
//! response_issued{unknown, timed_out} ─▶ outcome_found ─▶ outcome_reconciled ─▶ sent as text
//! ```
//!
//! The call has ended and keeps its outcome: this is no second outcome, and nothing runs. The first
//! finding counts.

use crate::admission::admit::reconcilable;
use crate::calls::deliveries::{Delivery, Wording};
use crate::calls::settled::{Reconciled, ToReconcile};
use crate::record::decision::{Decision, OutcomeReconciled, Route};
use crate::record::finding::Finding;
use crate::record::observation::OutcomeFound;
use crate::reducers::asking::confirmation;
use crate::reducers::running::claims;
use crate::reducers::telling::{conversation, redelivery};
use crate::state::session::Session;
use crate::values::id::Seq;

pub(crate) fn outcome_found(session: &mut Session, at: Seq, it: &OutcomeFound) {
    if session.calls.contains_key(&it.call) {
        return claims::outcome_found(session, at, it);
    }
    let late = it.attempt;
    if reconcilable(session, it.call).is_err()
        || late.is_some_and(|attempt| !claims::may_settle_later(session, it.call, attempt))
    {
        return;
    }
    let reconciled = Reconciled {
        at,
        found: it.found.found_as(),
        by: it.by.clone(),
    };
    session.reconciled.insert(it.call, reconciled);
    session.lapsed.remove(&it.call);
    session.to_reconcile = Some(ToReconcile {
        call: it.call,
        of: at,
        tool: it.tool.clone(),
        failed: match &it.found {
            Finding::Done(_) => None,
            Finding::Failed(reason) => Some(reason.clone()),
        },
    });
}

/// Reports the finding to the model. It goes without the id of the call, because the id was
/// answered.
pub(crate) fn next(session: &Session) -> Option<Decision> {
    let ToReconcile {
        call,
        of,
        tool,
        failed,
    } = session.to_reconcile.as_ref()?;
    let by_program = session
        .settled
        .get(call)
        .is_some_and(|it| it.made_by_program);
    // A program that made the call has its answer already, and no model asked.
    let route = if by_program {
        Route::Caller
    } else {
        conversation::route_without_id(session)
    };
    let reason = failed.as_deref();
    let reconciled = OutcomeReconciled {
        call: *call,
        of: *of,
        response: reason.map(|reason| confirmation::failure(session, tool, reason)),
        route,
    };
    Some(reconciled.into())
}

pub(crate) fn outcome_reconciled(session: &mut Session, at: Seq, it: &OutcomeReconciled) {
    let Some(found) = session.to_reconcile.take() else {
        return;
    };
    match it.route {
        Route::ToolResponse { .. }
        | Route::Conversation { .. }
        | Route::Parked
        | Route::Connect
        | Route::Notify => {}
        Route::Caller | Route::Parent => return,
    }
    let has_hook = session.terms.policies.hooks.before_tool_response;
    let delivery = Delivery {
        call: it.call,
        wire_id: None,
        name: found.tool,
        outcome: it.told_as(),
        route: it.route,
        will_continue: None,
        scheduling: None,
        wording: if has_hook {
            Wording::AwaitingHook
        } else {
            Wording::AsIssued
        },
        acknowledges: false,
        connects: conversation::connects(session, it.told_as(), it.route).then_some(session.at),
        sent: false,
    };
    redelivery::remember_reconciled(session, at, &delivery);
    // With `Notify`, the model receives the finding only if the service redelivers the call.
    if it.route != Route::Notify {
        session.deliveries.insert(at, delivery);
    }
    redelivery::update_ended(session, it.call);
}

#[cfg(test)]
#[path = "reconciliation_tests.rs"]
mod tests;
