//! Connections, and the routes of responses to the model.
//!
//! A call belongs to the connection that delivered it. When that connection is gone, its result is
//! sent as conversation on the next one, or parked until there is one. Sent is not delivered: only
//! later traffic from the server proves that a response arrived. A response that a lost connection
//! may have dropped is sent again.
//!
//! A connection that is about to be left starts none of its calls any more. Running calls and the
//! model's turn may still end on it.

use super::{phases, redelivery};
use crate::calls::call::Call;
use crate::calls::deliveries::{Delivery, Wording};
use crate::policies::on_settled::OnSettled;
use crate::record::decision::{Decision, DeliveryChosen, Outcome, Route};
use crate::record::observation::{
    ConnectFailed, Connected, ResponsesSent, ResumptionHandleReceived, SwitchPlanned,
};
use crate::state::effect::Effect;
use crate::state::resumption::Resumption;
use crate::state::session::Session;
use crate::values::id::Seq;

pub(crate) fn connected(session: &mut Session, epoch: Seq, it: &Connected) {
    session.connection = Some(epoch);
    session.reconnecting = false;
    // Without recorded capabilities, the model counts as one that accepts several responses.
    session.single_response = it.capabilities.is_some_and(|it| !it.will_continue);
    reset_turn(session);
    redelivery::connected(session, it.resumed.is_some());
    if it.resumed.is_none() {
        // The handle resumes the previous conversation, not this one.
        session.resumption = None;
    }
    phases::connected(session, epoch, it.phase);
    // The ids of an older connection mean nothing on this one.
    session.wire_ids.clear();
    session.deliveries.mark_all_unsent();
}

pub(crate) fn disconnected(session: &mut Session, epoch: Seq) {
    if session.connection == Some(epoch) {
        session.connection = None;
        let acknowledging = session.deliveries.iter().filter(|(_, it)| it.acknowledges);
        let acknowledging: Vec<Seq> = acknowledging.map(|(response, _)| *response).collect();
        redelivery::drop_responses(session, &acknowledging);
        reset_turn(session);
    }
}

fn reset_turn(session: &mut Session) {
    session.leaving = None;
    session.turn_open = false;
    session.unanswered = None;
}

pub(crate) fn switch_planned(session: &mut Session, it: &SwitchPlanned) {
    if session.connection == Some(it.epoch) {
        session.leaving = Some(it.due_us);
    }
}

/// Folds the plan for another connection, for which new outcomes wait.
///
/// Without a runner no connection will be opened.
pub(crate) fn reconnect_scheduled(session: &mut Session) {
    session.reconnecting = session.runner.is_some() && session.connection.is_none();
}

/// Folds a failed attempt to connect. A handle that the service rejected is dropped.
pub(crate) fn connect_failed(session: &mut Session, it: &ConnectFailed) {
    // After a rejected handle the next attempt follows at once. Otherwise it is scheduled, or there
    // is none.
    session.reconnecting &= it.rejected.is_some();
    let current = session.resumption.as_ref().map(|it| &it.fingerprint);
    if it.rejected.is_some() && it.rejected.as_ref() == current {
        session.resumption = None;
    }
}

/// Replaces the resumption handle by a newer one.
///
/// The old handle stays if the conversation is not resumable now.
pub(crate) fn handle_received(session: &mut Session, at: Seq, it: &ResumptionHandleReceived) {
    let (Some(fingerprint), true) = (&it.fingerprint, it.resumable) else {
        return;
    };
    if session.connection != Some(it.epoch) {
        return;
    }
    // The handle may be older than user input without a reaction, and than responses that were sent
    // but not confirmed. It is older than responses that were not sent yet. So it covers only what
    // precedes all of these.
    let untold = session.deliveries.keys().next().copied();
    let first = session.unanswered.into_iter().chain(untold).min();
    let covers = first.map_or(at, |it| Seq(it.0.saturating_sub(1)));
    session.resumption = Some(Resumption {
        fingerprint: fingerprint.clone(),
        expires_at: it.expires_at_us,
        covers,
    });
    redelivery::covered(session);
}

pub(crate) fn user_spoke(session: &mut Session, at: Seq) {
    session.said = session.head;
    session.turn_open = true;
    session.unanswered.get_or_insert(at);
}

pub(crate) fn turn_began(session: &mut Session) {
    session.said = session.head;
    session.turn_open = true;
}

pub(crate) fn model_spoke(session: &mut Session) {
    session.said = session.head;
    session.turn_open = true;
    session.unanswered = None;
}

pub(crate) fn turn_ended(session: &mut Session) {
    session.said = session.head;
    session.turn_open = false;
    session.unanswered = None;
}

/// True if the call's connection is about to be left, so that the call must not start on it.
pub(crate) fn is_being_left(session: &Session, call: &Call) -> bool {
    session.leaving.is_some() && session.connection == Some(call.epoch)
}

/// Folds traffic from the server. It proves that everything sent on this connection before has
/// arrived.
pub(crate) fn server_frame_received(session: &mut Session, epoch: Seq) {
    if session.connection == Some(epoch) {
        while let Some(arrived) = session.deliveries.take_sent() {
            redelivery::update_ended(session, arrived.call);
        }
        if session.resumption.is_none() {
            // The first handle will cover what has arrived before it.
            redelivery::covered(session);
        }
    }
}

pub(crate) fn responses_sent(session: &mut Session, it: &ResponsesSent) {
    if session.connection != Some(it.epoch) {
        return;
    }
    for response in &it.responses {
        session.deliveries.mark_sent(*response);
    }
}

/// The current route of a response to `call`, final or interim.
pub(crate) fn route(session: &Session, call: &Call, outcome: Outcome) -> Route {
    if call.made_by_program {
        return Route::Caller;
    }
    if call.parent.is_some() {
        return Route::Parent;
    }
    // A model that takes one response has received it, so the rest is sent as conversation.
    let answered = session.single_response && call.told_meanwhile;
    match session.connection {
        // An id that the model cancelled must not be answered, so a late outcome is sent as
        // conversation.
        Some(epoch) if call.epoch == epoch && !call.model_lost_interest && !answered => {
            Route::ToolResponse { epoch }
        }
        Some(_) | None => {
            let route = route_without_id(session);
            // An end causes a new connection. An interim response does not, and is sent with the
            // next one.
            let waits = route == Route::Connect && outcome == Outcome::Interim;
            if waits { Route::Parked } else { route }
        }
    }
}

/// The current route of a message that belongs to no call of the live connection.
pub(crate) fn route_without_id(session: &Session) -> Route {
    match session.connection {
        Some(epoch) => Route::Conversation { epoch },
        None if session.reconnecting => Route::Parked,
        None => match session.terms.policies.on_settled {
            OnSettled::Park => Route::Parked,
            OnSettled::Connect => Route::Connect,
            OnSettled::Notify => Route::Notify,
        },
    }
}

/// True if a connection is to be opened for this response.
///
/// Also true while the runner reconnects, because that may fail.
pub(crate) fn connects(session: &Session, outcome: Outcome, route: Route) -> bool {
    let wanted = session.terms.policies.on_settled == OnSettled::Connect;
    match route {
        Route::Connect => true,
        Route::Parked => session.reconnecting && wanted && outcome != Outcome::Interim,
        Route::ToolResponse { .. }
        | Route::Conversation { .. }
        | Route::Notify
        | Route::Caller
        | Route::Parent => false,
    }
}

/// Removes the id from the unsent responses of an ended call that the model has cancelled.
///
/// They are sent without the id, because lost interest does not undo what the tool did.
pub(crate) fn clear_cancelled_id(session: &mut Session, call: Seq) {
    let of_call = session.deliveries.of_call(call);
    let by_id = of_call.filter(|(_, it)| matches!(it.route, Route::ToolResponse { .. }));
    for response in by_id.map(|(response, _)| response).collect::<Vec<_>>() {
        session.deliveries.clear_wire_id(response);
        session.deliveries.reroute(response, Route::Parked);
    }
}

/// Chooses the live connection for a response whose connection is gone or whose id was cancelled.
pub(crate) fn redirect(session: &Session) -> Option<Decision> {
    let epoch = session.connection.filter(|_| !session.closed)?;
    let stranded = session.deliveries.first_stranded(epoch);
    stranded.map(|(response, delivery)| {
        // A redelivered call can be answered by its id.
        let id = delivery.wire_id.clone();
        let known = id.and_then(|id| session.wire_ids.get(&(epoch, id)));
        let is_known = known == Some(&delivery.call);
        let route = if is_known {
            Route::ToolResponse { epoch }
        } else {
            Route::Conversation { epoch }
        };
        DeliveryChosen { response, route }.into()
    })
}

pub(crate) fn delivery_chosen(session: &mut Session, it: &DeliveryChosen) {
    session.deliveries.reroute(it.response, it.route);
}

/// True if an outcome waits for a connection that has to be opened.
pub(crate) fn wants_connection(session: &Session) -> bool {
    let mut untold = session.deliveries.connecting();
    session.connection.is_none() && !session.closed && untold.next().is_some()
}

pub(crate) fn owed(session: &Session, effects: &mut Vec<Effect>) {
    if wants_connection(session) {
        effects.push(Effect::Connect);
    }
    owed_about(session, session.deliveries.iter(), effects);
}

/// Adds the effects that are owed for these responses.
pub(crate) fn owed_about<'s>(
    session: &Session,
    responses: impl Iterator<Item = (&'s Seq, &'s Delivery)>,
    effects: &mut Vec<Effect>,
) {
    let has_hook = session.terms.policies.hooks.before_tool_response;
    for (response, delivery) in responses.filter(|(_, delivery)| {
        !(delivery.sent || has_hook && delivery.wording == Wording::AwaitingHook)
    }) {
        let (chosen, as_conversation) = match delivery.route {
            Route::ToolResponse { epoch } => (epoch, false),
            Route::Conversation { epoch } => (epoch, true),
            Route::Parked | Route::Connect | Route::Notify | Route::Caller | Route::Parent => {
                continue;
            }
        };
        if session.connection == Some(chosen) {
            let (response, call) = (*response, delivery.call);
            effects.push(Effect::SendResponse {
                response,
                call,
                epoch: chosen,
                as_conversation,
            });
        }
    }
}

#[cfg(test)]
#[path = "conversation_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "on_settled_tests.rs"]
mod on_settled_tests;
