//! Redeliveries: calls that the service sends again after their conversation was resumed.
//!
//! Ids belong to a connection, and so does a call. There is one exception, so that a side effect
//! does not happen twice. A resumed conversation continues from where its handle was issued, so the
//! service may repeat a call that it made after that. A call with the id, name and arguments of a
//! call that came after the handle is that same call. Nothing is judged, asked or started again:
//!
//! * An open call moves to the live connection and is answered there.
//! * The response of an ended call is sent there again. If its outcome was found later, the
//!   response contains the finding.
//!
//! Anything else is another call: the same id on a fresh conversation, a call that the model had
//! cancelled, and a call without an id.

use crate::calls::call::Call;
use crate::calls::deliveries::{Delivery, Wording};
use crate::calls::repeatable::{Known, Repeatable};
use crate::record::decision::{Outcome, Route};
use crate::record::observation::FunctionCallReceived;
use crate::state::session::Session;
use crate::values::id::Seq;
use crate::values::object::ObjectHash;

/// Folds a new connection. A fresh conversation repeats no earlier call.
pub(crate) fn connected(session: &mut Session, resumed: bool) {
    session.repeatable.resumed = resumed;
    if !resumed {
        session.repeatable = Repeatable::default();
    }
}

/// Drops the calls that a handle covers, which are those that had ended before it.
pub(crate) fn covered(session: &mut Session) {
    // The handle does not cover responses that are unsent or unconfirmed, so their calls stay.
    while let Some(call) = session.repeatable.ended.pop_first() {
        if let Some(id) = session.repeatable.ids.remove(&call) {
            session.repeatable.calls.remove(&id);
        }
    }
}

/// Updates `ended` for a call, after a response to it was added or removed.
pub(crate) fn update_ended(session: &mut Session, call: Seq) {
    let Session {
        repeatable,
        deliveries,
        ..
    } = session;
    let Some(known) = repeatable.of_call(call) else {
        return;
    };
    let waits = known.answer.is_none() || known.ends().any(|(at, _)| deliveries.contains_key(at));
    if waits {
        repeatable.ended.remove(&call);
    } else {
        repeatable.ended.insert(call);
    }
}

/// Updates `ended` for all calls, after all deliveries were removed.
pub(crate) fn update_all_ended(session: &mut Session) {
    for call in session.repeatable.ids.keys().copied().collect::<Vec<_>>() {
        update_ended(session, call);
    }
}

/// Removes responses that are no longer to be sent to the model.
pub(crate) fn drop_responses(session: &mut Session, responses: &[Seq]) {
    for response in responses {
        if let Some(delivery) = session.deliveries.remove(*response) {
            update_ended(session, delivery.call);
        }
    }
}

impl Session {
    /// Removes the responses of a call, so that the model never receives them.
    #[doc(hidden)]
    pub fn forget_deliveries(&mut self, call: Seq) {
        let of_call = self.deliveries.of_call(call).map(|(response, _)| response);
        drop_responses(self, &of_call.collect::<Vec<_>>());
    }
}

/// Remembers a call. A handle that exists, or arrives while the call is open, does not cover it.
pub(crate) fn remember_call(session: &mut Session, call: Seq, it: &FunctionCallReceived, id: &str) {
    let known = Known {
        call,
        asks_for: request_hash(it),
        meanwhile: None,
        answer: None,
        reconciled: None,
    };
    session.repeatable.forget(id);
    session.repeatable.calls.insert(id.to_owned(), known);
    session.repeatable.ids.insert(call, id.to_owned());
}

/// Forgets calls that the model cancelled. A further call with such an id is another call.
pub(crate) fn forget_cancelled(session: &mut Session, ids: &[String]) {
    for id in ids {
        session.repeatable.forget(id);
    }
}

/// Forgets a call that ended without a response.
///
/// There is nothing to give a repeat, so a repeat is another call.
pub(crate) fn forget_unanswered(session: &mut Session, seq: Seq, call: &Call) {
    if let Some(id) = &call.wire_id
        && session.repeatable.ids.get(&seq) == Some(id)
    {
        session.repeatable.forget(id);
    }
}

/// Remembers a response to a call.
pub(crate) fn remember_response(session: &mut Session, at: Seq, delivery: &Delivery) {
    let Repeatable { calls, .. } = &mut session.repeatable;
    let id = delivery.wire_id.as_deref().unwrap_or_default();
    let Some(known) = calls.get_mut(id).filter(|it| it.call == delivery.call) else {
        return;
    };
    let remembered = (at, delivery.clone());
    if delivery.outcome == Outcome::Interim {
        known.meanwhile.get_or_insert(remembered);
    } else {
        known.answer = Some(remembered);
    }
}

/// Remembers an outcome that was found after the call had ended as unknown.
pub(crate) fn remember_reconciled(session: &mut Session, at: Seq, delivery: &Delivery) {
    let known = session.repeatable.of_call(delivery.call);
    if let Some(known) = known
        && let Some((_, answer)) = &known.answer
    {
        // A redelivered call is answered by its id, as before.
        let by_id = Delivery {
            wire_id: answer.wire_id.clone(),
            will_continue: answer.will_continue,
            ..delivery.clone()
        };
        known.reconciled = Some((at, by_id));
    }
}

/// Sets the content that a hook chose for a response, also for its redelivery.
pub(crate) fn set_wording(session: &mut Session, call: Seq, issued: Seq, wording: Wording) {
    if let Some(known) = session.repeatable.of_call(call) {
        let remembered = [
            &mut known.meanwhile,
            &mut known.answer,
            &mut known.reconciled,
        ];
        for (_, delivery) in remembered
            .into_iter()
            .flatten()
            .filter(|(at, _)| *at == issued)
        {
            delivery.wording = wording;
        }
    }
}

/// Detects a redelivery and moves its call to the live connection. Returns false for a new call.
pub(crate) fn is_redelivery(session: &mut Session, it: &FunctionCallReceived, id: &str) -> bool {
    let is_resumed = session.repeatable.resumed && session.connection == Some(it.epoch);
    if !is_resumed || session.closed {
        return false;
    }
    let Some(known) = session.repeatable.calls.get(id) else {
        return false;
    };
    if known.asks_for != request_hash(it) {
        return false;
    }
    let call = known.call;
    let open = session.calls.get_mut(&call);
    if known.answer.is_none() && open.is_none() {
        return false;
    }
    if let Some(open) = open {
        open.epoch = it.epoch;
    }
    // The model has also forgotten the interim response.
    if let Some((at, delivery)) = known.ends().next().or(known.meanwhile.as_ref()) {
        if let (Some(_), Some((unknown, _))) = (&known.reconciled, &known.answer) {
            session.deliveries.remove(*unknown);
        }
        // The remembered delivery is in the state in which it was issued, so it is not sent.
        let again = Delivery {
            route: Route::Parked,
            ..delivery.clone()
        };
        session.deliveries.insert(*at, again);
    }
    update_ended(session, call);
    session.wire_ids.insert((it.epoch, id.to_owned()), call);
    true
}

fn request_hash(it: &FunctionCallReceived) -> ObjectHash {
    let malformed = it.malformed_args.as_ref().map(|it| it.text.as_str());
    let args = it.args.as_ref().map_or("", |it| it.as_str());
    let name = it.name.as_deref().unwrap_or_default();
    ObjectHash::of(format!("{name}\n{args}\n{}", malformed.unwrap_or_default()).as_bytes())
}

#[cfg(test)]
#[path = "redelivery_tests.rs"]
mod tests;
