//! Connections, and how what the model is told reaches it.
//!
//! A call belongs to the connection that brought it. When that one is gone, its result is told as conversation on
//! the next, or parked until there is one. Sent is not delivered: only traffic of the server after a send proves
//! that it arrived, and what a lost connection may have swallowed is told again.

use crate::session::call::Call;
use crate::session::decision::{Decision, DeliveryChosen, Route};
use crate::session::effect::Effect;
use crate::session::id::Seq;
use crate::session::observation::{Connected, ResponsesSent};
use crate::session::state::{Session, Wording};

use super::phases;

pub(in crate::session) fn connected(session: &mut Session, epoch: Seq, it: &Connected) {
    session.connection = Some(epoch);
    // Where a record says nothing, the model was told everything.
    session.single_response = it.capabilities.is_some_and(|it| !it.will_continue);
    phases::connected(session, epoch, it.phase);
    // Ids of an older connection mean nothing on this one.
    session.wire_ids.clear();
    for delivery in session.deliveries.values_mut() {
        delivery.sent = false;
    }
}

pub(in crate::session) fn disconnected(session: &mut Session, epoch: Seq) {
    if session.connection == Some(epoch) {
        session.connection = None;
    }
}

/// The server is heard on its connection: what was sent there has arrived.
pub(in crate::session) fn heard(session: &mut Session, epoch: Seq) {
    if session.connection == Some(epoch) {
        session.deliveries.retain(|_, delivery| !delivery.sent);
    }
}

pub(in crate::session) fn responses_sent(session: &mut Session, it: &ResponsesSent) {
    if session.connection != Some(it.epoch) {
        return;
    }
    for response in &it.responses {
        if let Some(delivery) = session.deliveries.get_mut(response) {
            delivery.sent = true;
        }
    }
}

/// How a response to `call` travels now.
pub(in crate::session) fn route(session: &Session, call: &Call) -> Route {
    if call.made_by_program {
        return Route::Caller;
    }
    // The model that takes one response has had it, so the rest is told as conversation.
    let answered = session.single_response && call.told_meanwhile;
    match session.connection {
        // Nothing may be sent for an id that the model took back, so a late outcome is told as conversation.
        Some(epoch) if call.epoch == epoch && !call.model_lost_interest && !answered => {
            Route::ToolResponse { epoch }
        }
        Some(epoch) => Route::Conversation { epoch },
        None => Route::Parked,
    }
}

/// Chooses the conversation of now for what was to go by a connection that is gone.
pub(in crate::session) fn redirect(session: &Session) -> Option<Decision> {
    let epoch = session.connection.filter(|_| !session.closed)?;
    let stranded = session
        .deliveries
        .iter()
        .find(|(_, delivery)| match delivery.route {
            Route::ToolResponse { epoch: chosen } | Route::Conversation { epoch: chosen } => {
                chosen != epoch
            }
            Route::Parked => true,
            Route::Caller => false,
        });
    stranded.map(|(response, _)| {
        DeliveryChosen {
            response: *response,
            route: Route::Conversation { epoch },
        }
        .into()
    })
}

pub(in crate::session) fn delivery_chosen(session: &mut Session, it: &DeliveryChosen) {
    if let Some(delivery) = session.deliveries.get_mut(&it.response) {
        delivery.route = it.route;
    }
}

pub(in crate::session) fn owed(session: &Session, effects: &mut Vec<Effect>) {
    let shown = session.terms.policies.hooks.before_tool_response;
    for (response, delivery) in session.deliveries.iter().filter(|(_, delivery)| {
        !(delivery.sent || shown && delivery.wording == Wording::AwaitingHook)
    }) {
        let (chosen, as_conversation) = match delivery.route {
            Route::ToolResponse { epoch } => (epoch, false),
            Route::Conversation { epoch } => (epoch, true),
            Route::Parked | Route::Caller => continue,
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
