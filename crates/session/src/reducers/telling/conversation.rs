//! Connections, and how what the model is told reaches it.
//!
//! A call belongs to the connection that brought it. When that one is gone, its result is told as
//! conversation on the next, or parked until there is one. Sent is not delivered: only traffic of
//! the server after a send proves that it arrived, and what a lost connection may have swallowed is
//! told again.
//!
//! A connection that is to be left starts none of its calls any more; what runs may end, and so may
//! a turn.

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
    // Where a record says nothing, the model was told everything.
    session.single_response = it.capabilities.is_some_and(|it| !it.will_continue);
    began_or_ended(session);
    redelivery::connected(session, it.resumed.is_some());
    if it.resumed.is_none() {
        // What led to the conversation of before would lead away from this one.
        session.resumption = None;
    }
    phases::connected(session, epoch, it.phase);
    // Ids of an older connection mean nothing on this one.
    session.wire_ids.clear();
    session.deliveries.unsend();
}

pub(crate) fn disconnected(session: &mut Session, epoch: Seq) {
    if session.connection == Some(epoch) {
        session.connection = None;
        let acknowledging = session.deliveries.iter().filter(|(_, it)| it.acknowledges);
        let acknowledging: Vec<Seq> = acknowledging.map(|(response, _)| *response).collect();
        redelivery::no_longer_told(session, &acknowledging);
        began_or_ended(session);
    }
}

fn began_or_ended(session: &mut Session) {
    session.leaving = None;
    session.turn_open = false;
    session.unanswered = None;
}

pub(crate) fn switch_planned(session: &mut Session, it: &SwitchPlanned) {
    if session.connection == Some(it.epoch) {
        session.leaving = Some(it.due_us);
    }
}

/// What ends until then waits for that connection. A runner that is gone tries no more, so one must
/// be there.
pub(crate) fn reconnect_scheduled(session: &mut Session) {
    session.reconnecting = session.runner.is_some() && session.connection.is_none();
}

/// A handle that the service does not take leads nowhere.
pub(crate) fn connect_failed(session: &mut Session, it: &ConnectFailed) {
    // Where the handle was to blame, the next try follows at once; otherwise it is scheduled, or
    // there is none.
    session.reconnecting &= it.rejected.is_some();
    let current = session.resumption.as_ref().map(|it| &it.fingerprint);
    if it.rejected.is_some() && it.rejected.as_ref() == current {
        session.resumption = None;
    }
}

/// The newest handle takes the place of the former; where the conversation is not resumable now,
/// the former stays.
pub(crate) fn handle_received(session: &mut Session, at: Seq, it: &ResumptionHandleReceived) {
    let (Some(fingerprint), true) = (&it.fingerprint, it.resumable) else {
        return;
    };
    if session.connection != Some(it.epoch) {
        return;
    }
    // Words to which the model has not reacted may have been on their way when the handle was made,
    // and so may a response after which nothing was heard; one that has not left yet was not.
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

/// Whether the connection of the call is to be left, so that the call does not start on it any
/// more.
pub(crate) fn is_being_left(session: &Session, call: &Call) -> bool {
    session.leaving.is_some() && session.connection == Some(call.epoch)
}

/// The server is heard on its connection: what was sent there has arrived.
pub(crate) fn heard(session: &mut Session, epoch: Seq) {
    if session.connection == Some(epoch) {
        while let Some(arrived) = session.deliveries.take_sent() {
            redelivery::note_gone(session, arrived.call);
        }
        if session.resumption.is_none() {
            // The first handle to come will cover what has arrived before it.
            redelivery::covered(session);
        }
    }
}

pub(crate) fn responses_sent(session: &mut Session, it: &ResponsesSent) {
    if session.connection != Some(it.epoch) {
        return;
    }
    for response in &it.responses {
        session.deliveries.note_sent(*response);
    }
}

/// How a response to `call` travels now: how it ended, or news of it.
pub(crate) fn route(session: &Session, call: &Call, outcome: Outcome) -> Route {
    if call.made_by_program {
        return Route::Caller;
    }
    if call.parent.is_some() {
        return Route::Parent;
    }
    // The model that takes one response has had it, so the rest is told as conversation.
    let answered = session.single_response && call.told_meanwhile;
    match session.connection {
        // Nothing may be sent for an id that the model took back, so a late outcome is told as
        // conversation.
        Some(epoch) if call.epoch == epoch && !call.model_lost_interest && !answered => {
            Route::ToolResponse { epoch }
        }
        Some(_) | None => {
            let route = route_without_id(session);
            // For an end a connection is opened, and not for news, which goes with it.
            let waits = route == Route::Connect && outcome == Outcome::Interim;
            if waits { Route::Parked } else { route }
        }
    }
}

/// How what belongs to no call of the live connection travels now.
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

/// Whether a connection is to be opened for what is told so; also where one is tried for already,
/// which may not come.
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

/// The model has taken back a call that had ended. What has not left may not go by the id any more,
/// and is told without it: that the model lost interest does not undo what the tool did.
pub(crate) fn taken_back(session: &mut Session, call: Seq) {
    let of_call = session.deliveries.of_call(call);
    let by_id = of_call.filter(|(_, it)| matches!(it.route, Route::ToolResponse { .. }));
    for response in by_id.map(|(response, _)| response).collect::<Vec<_>>() {
        session.deliveries.take_id(response);
        session.deliveries.reroute(response, Route::Parked);
    }
}

/// Chooses the connection of now for what was to go by one that is gone, or by an id that was taken
/// back.
pub(crate) fn redirect(session: &Session) -> Option<Decision> {
    let epoch = session.connection.filter(|_| !session.closed)?;
    let stranded = session.deliveries.first_stranded(epoch);
    stranded.map(|(response, delivery)| {
        // A call that the service delivered again can be answered by its id.
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

/// Whether a connection is to be opened for what ended while there was none.
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

/// The effects that are owed for these responses.
pub(crate) fn owed_about<'s>(
    session: &Session,
    responses: impl Iterator<Item = (&'s Seq, &'s Delivery)>,
    effects: &mut Vec<Effect>,
) {
    let shown = session.terms.policies.hooks.before_tool_response;
    for (response, delivery) in responses.filter(|(_, delivery)| {
        !(delivery.sent || shown && delivery.wording == Wording::AwaitingHook)
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
