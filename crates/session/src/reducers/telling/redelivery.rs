//! A call that the service delivers again after its conversation was resumed.
//!
//! Ids belong to a connection, and so does a call. One exception keeps a side effect from happening
//! twice: a resumed conversation goes on from where its handle was issued, so the service may
//! repeat a call that it had made since. Where id, name and arguments are those of a call that came
//! after the handle, it is that call: nothing is judged, asked or started again. Open, it moves to
//! the connection of now and is answered there; ended, its response is issued there once more;
//! where somebody has found out since what became of it, with that. Anything else is another call,
//! also the same id on a fresh conversation, and also what the model had taken back. A call without
//! an id is never the same as another.

use crate::calls::call::Call;
use crate::calls::deliveries::{Delivery, Wording};
use crate::calls::repeatable::{Known, Repeatable};
use crate::record::decision::{Outcome, Route};
use crate::record::observation::FunctionCallReceived;
use crate::state::session::Session;
use crate::values::id::Seq;
use crate::values::object::ObjectHash;

/// A connection is ready; on a fresh conversation nothing of before is repeated.
pub(crate) fn connected(session: &mut Session, resumed: bool) {
    session.repeatable.resumed = resumed;
    if !resumed {
        session.repeatable = Repeatable::default();
    }
}

/// A newer handle covers what has ended, and the first one what had ended before it.
pub(crate) fn covered(session: &mut Session) {
    // Of what has not left yet it knows nothing, and perhaps nothing of what was still on its way.
    while let Some(call) = session.repeatable.ended.pop_first() {
        if let Some(id) = session.repeatable.ids.remove(&call) {
            session.repeatable.calls.remove(&id);
        }
    }
}

/// Looks whether anything is on its way for a call that may be delivered again, after a response to
/// it came or went.
pub(crate) fn note_gone(session: &mut Session, call: Seq) {
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

/// Nothing is on its way any more.
pub(crate) fn all_gone(session: &mut Session) {
    for call in session.repeatable.ids.keys().copied().collect::<Vec<_>>() {
        note_gone(session, call);
    }
}

/// Removes responses that the model is not told any more.
pub(crate) fn no_longer_told(session: &mut Session, responses: &[Seq]) {
    for response in responses {
        if let Some(delivery) = session.deliveries.remove(*response) {
            note_gone(session, delivery.call);
        }
    }
}

impl Session {
    /// Removes the responses of a call, of which the model is told in no way.
    #[doc(hidden)]
    pub fn forget_deliveries(&mut self, call: Seq) {
        let of_call = self.deliveries.of_call(call).map(|(response, _)| response);
        no_longer_told(self, &of_call.collect::<Vec<_>>());
    }
}

/// Remembers a call: a handle that is there, or comes while it is open, does not cover it.
pub(crate) fn may_repeat(session: &mut Session, call: Seq, it: &FunctionCallReceived, id: &str) {
    let known = Known {
        call,
        asks_for: asked_for(it),
        meanwhile: None,
        answer: None,
        reconciled: None,
    };
    session.repeatable.forget(id);
    session.repeatable.calls.insert(id.to_owned(), known);
    session.repeatable.ids.insert(call, id.to_owned());
}

/// What the model took back and calls again is another call.
pub(crate) fn taken_back(session: &mut Session, ids: &[String]) {
    for id in ids {
        session.repeatable.forget(id);
    }
}

/// A call ended without a response, so there is nothing that its repeat could be given: that is
/// another call.
pub(crate) fn ended_unanswered(session: &mut Session, seq: Seq, call: &Call) {
    if let Some(id) = &call.wire_id
        && session.repeatable.ids.get(&seq) == Some(id)
    {
        session.repeatable.forget(id);
    }
}

/// Remembers what was told of a call.
pub(crate) fn told(session: &mut Session, at: Seq, delivery: &Delivery) {
    let Repeatable { calls, .. } = &mut session.repeatable;
    let id = delivery.wire_id.as_deref().unwrap_or_default();
    let Some(known) = calls.get_mut(id).filter(|it| it.call == delivery.call) else {
        return;
    };
    let told = (at, delivery.clone());
    if delivery.outcome == Outcome::Interim {
        known.meanwhile.get_or_insert(told);
    } else {
        known.answer = Some(told);
    }
}

/// Remembers what was found out of a call whose outcome was unknown when it was told.
pub(crate) fn reconciled(session: &mut Session, at: Seq, delivery: &Delivery) {
    let known = session.repeatable.of_call(delivery.call);
    if let Some(known) = known
        && let Some((_, answer)) = &known.answer
    {
        // Whoever calls again is answered by the id, as before.
        let by_id = Delivery {
            wire_id: answer.wire_id.clone(),
            will_continue: answer.will_continue,
            ..delivery.clone()
        };
        known.reconciled = Some((at, by_id));
    }
}

/// A hook has chosen the words of a response; they hold also where it is told again.
pub(crate) fn worded(session: &mut Session, call: Seq, issued: Seq, wording: Wording) {
    if let Some(known) = session.repeatable.of_call(call) {
        let told = [
            &mut known.meanwhile,
            &mut known.answer,
            &mut known.reconciled,
        ];
        for (_, delivery) in told.into_iter().flatten().filter(|(at, _)| *at == issued) {
            delivery.wording = wording;
        }
    }
}

/// Whether this is a call of before, delivered again; then it belongs to the connection of now.
pub(crate) fn delivered_again(session: &mut Session, it: &FunctionCallReceived, id: &str) -> bool {
    let is_here = session.repeatable.resumed && session.connection == Some(it.epoch);
    if !is_here || session.closed {
        return false;
    }
    let Some(known) = session.repeatable.calls.get(id) else {
        return false;
    };
    if known.asks_for != asked_for(it) {
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
    // The model has forgotten also what it was told while the call went on.
    if let Some((at, delivery)) = known.ends().next().or(known.meanwhile.as_ref()) {
        if let (Some(_), Some((unknown, _))) = (&known.reconciled, &known.answer) {
            session.deliveries.remove(*unknown);
        }
        // What is remembered of it is how it was issued, and then it had not left.
        let again = Delivery {
            route: Route::Parked,
            ..delivery.clone()
        };
        session.deliveries.insert(*at, again);
    }
    note_gone(session, call);
    session.wire_ids.insert((it.epoch, id.to_owned()), call);
    true
}

fn asked_for(it: &FunctionCallReceived) -> ObjectHash {
    let malformed = it.malformed_args.as_ref().map(|it| it.text.as_str());
    let args = it.args.as_ref().map_or("", |it| it.as_str());
    let name = it.name.as_deref().unwrap_or_default();
    ObjectHash::of(format!("{name}\n{args}\n{}", malformed.unwrap_or_default()).as_bytes())
}

#[cfg(test)]
#[path = "redelivery_tests.rs"]
mod tests;
