//! Calls that are taken back: by the model, or by somebody outside.

use crate::session::call::WaitsFor;
use crate::session::decision::CancelReason;
use crate::session::id::Seq;
use crate::session::observation::{CallCancellationReceived, OperatorCancelled};
use crate::session::state::Session;

use super::{conversation, redelivery};

/// The model takes calls back. An unknown id has no effect, and neither has that of a call whose response has left.
///
/// It is a statement about the model's interest, and undoes nothing. A call that has ended keeps its outcome, which is told
/// without its id. One that a person is deciding, or that goes on elsewhere, stays open and shows that the model lost
/// interest; only a tool that says so lets its question be withdrawn.
pub(in crate::session) fn cancellation_received(
    session: &mut Session,
    it: &CallCancellationReceived,
) {
    if session.connection != Some(it.epoch) {
        return;
    }
    let calls: Vec<Seq> = it
        .ids
        .iter()
        .filter_map(|id| session.wire_ids.get(&(it.epoch, id.clone())).copied())
        .collect();
    redelivery::taken_back(session, &it.ids);
    for seq in calls {
        let policies = session.terms.policies.clone();
        let Some(call) = session.calls.get_mut(&seq) else {
            conversation::taken_back(session, seq);
            continue;
        };
        let waits_outside = matches!(
            call.phase.waits_for(),
            WaitsFor::Person | WaitsFor::Response
        );
        let withdraw = policies.of(&call.name).withdraw_on_cancel;
        call.model_lost_interest = true;
        // What was said of it meanwhile has lost its point; its end, if it comes, is told as conversation.
        session
            .deliveries
            .retain(|_, delivery| delivery.call != seq);
        if !waits_outside || withdraw {
            call.cancel = Some(CancelReason::Model);
        }
    }
}

pub(in crate::session) fn operator_cancelled(
    session: &mut Session,
    seq: Seq,
    it: &OperatorCancelled,
) {
    if let Some(call) = session.calls.get_mut(&it.call) {
        call.cancelled_in = it.response.as_ref().map(|_| seq);
        call.cancel = Some(CancelReason::Operator);
    }
}
