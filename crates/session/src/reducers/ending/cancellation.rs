//! Calls that are cancelled by the model or by an operator.

use crate::record::decision::CancelReason;
use crate::record::observation::{CallCancellationReceived, OperatorCancelled};
use crate::reducers::telling::{conversation, redelivery};
use crate::state::session::Session;
use crate::state::waiting;
use crate::values::id::Seq;

/// Folds a cancellation by the model.
///
/// An unknown id has no effect, and neither has the id of a call whose response was sent.
///
/// A cancellation says that the model lost interest; it undoes nothing. A call that has ended keeps
/// its outcome, which is sent without its id. A call that waits for a person or for a result from
/// outside stays open and shows that the model lost interest. Only a tool with `withdraw_on_cancel`
/// lets its request be withdrawn. The same holds for an agent's call while calls that it made wait
/// outside.
pub(crate) fn cancellation_received(session: &mut Session, it: &CallCancellationReceived) {
    if session.connection != Some(it.epoch) {
        return;
    }
    let calls: Vec<Seq> = it
        .ids
        .iter()
        .filter_map(|id| session.wire_ids.get(&(it.epoch, id.clone())).copied())
        .collect();
    redelivery::forget_cancelled(session, &it.ids);
    for seq in calls {
        if !session.calls.contains_key(&seq) {
            conversation::clear_cancelled_id(session, seq);
            continue;
        }
        let waiting = waiting::outside(session, seq);
        let stays = waiting.iter().any(|it| !withdraws(session, *it));
        for lost in waiting.into_iter().chain([seq]) {
            if let Some(call) = session.calls.get_mut(&lost) {
                call.model_lost_interest = true;
            }
        }
        // Interim responses are of no use now. The end of the call, if it comes, is sent as
        // conversation.
        let of_call = session
            .deliveries
            .of_call(seq)
            .map(|(response, _)| response);
        let of_call: Vec<Seq> = of_call.collect();
        redelivery::drop_responses(session, &of_call);
        if let Some(call) = session.calls.get_mut(&seq).filter(|_| !stays) {
            call.cancel = Some(CancelReason::Model);
        }
    }
}

fn withdraws(session: &Session, call: Seq) -> bool {
    let tool = session.calls.get(&call).map(|call| call.name.as_str());
    tool.is_some_and(|tool| session.terms.policies.of(tool).withdraw_on_cancel)
}

pub(crate) fn operator_cancelled(session: &mut Session, seq: Seq, it: &OperatorCancelled) {
    if let Some(call) = session.calls.get_mut(&it.call) {
        call.cancelled_in = it.response.as_ref().map(|_| seq);
        call.cancel = Some(CancelReason::Operator);
    }
}
