//! A call that the service delivers again after its conversation was resumed.
//!
//! Ids belong to a connection, and so does a call. One exception keeps a side effect from happening twice: a resumed
//! conversation goes on from where its handle was issued, so the service may repeat a call that it had made since. Where
//! id, name and arguments are those of a call that came after the handle, it is that call: nothing is judged, asked or
//! started again. Open, it moves to the connection of now and is answered there; ended, its response is issued there
//! once more. Anything else is another call, also the same id on a fresh conversation, and also what the model had
//! taken back. A call without an id is never the same as another.

use std::collections::BTreeMap;

use crate::session::decision::Route;
use crate::session::id::Seq;
use crate::session::object::ObjectHash;
use crate::session::observation::FunctionCallReceived;
use crate::session::state::{Delivery, Session};

/// The calls since the handle by which the conversation can be resumed, by wire id.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::session) struct Repeatable {
    /// Whether the live connection goes on with an earlier conversation.
    resumed: bool,
    calls: BTreeMap<String, Known>,
}

/// A call that may be delivered again.
#[derive(Clone, Debug, PartialEq)]
struct Known {
    call: Seq,
    /// Over its name and arguments.
    asks_for: ObjectHash,
    /// Its end and how that was told, once it has ended.
    answer: Option<(Seq, Delivery)>,
}

/// A connection is ready; on a fresh conversation nothing of before is repeated.
pub(in crate::session) fn connected(session: &mut Session, resumed: bool) {
    session.repeatable.resumed = resumed;
    if !resumed {
        session.repeatable.calls.clear();
    }
}

/// A newer handle covers what has ended.
pub(in crate::session) fn covered(session: &mut Session) {
    let calls = &mut session.repeatable.calls;
    calls.retain(|_, known| known.answer.is_none());
}

/// Remembers a call, if there is a handle from which the conversation could be resumed without it.
pub(in crate::session) fn may_repeat(
    session: &mut Session,
    call: Seq,
    it: &FunctionCallReceived,
    id: &str,
) {
    if session.resumption.is_some() {
        let known = Known {
            call,
            asks_for: asked_for(it),
            answer: None,
        };
        session.repeatable.calls.insert(id.to_owned(), known);
    }
}

/// What the model took back and calls again is another call.
pub(in crate::session) fn taken_back(session: &mut Session, ids: &[String]) {
    for id in ids {
        session.repeatable.calls.remove(id);
    }
}

/// Remembers how a call was answered for good.
pub(in crate::session) fn answered(session: &mut Session, at: Seq, delivery: &Delivery) {
    let id = delivery.wire_id.as_deref().unwrap_or_default();
    if let Some(known) = session.repeatable.calls.get_mut(id)
        && known.call == delivery.call
    {
        known.answer = Some((at, delivery.clone()));
    }
}

/// Whether this is a call of before, delivered again; then it belongs to the connection of now.
pub(in crate::session) fn delivered_again(
    session: &mut Session,
    it: &FunctionCallReceived,
    id: &str,
) -> bool {
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
    if let Some((at, delivery)) = &known.answer {
        let again = Delivery {
            route: Route::Parked,
            sent: false,
            ..delivery.clone()
        };
        session.deliveries.insert(*at, again);
    } else if let Some(open) = session.calls.get_mut(&call) {
        open.epoch = it.epoch;
        // What it was told before the model has forgotten, so a model that takes one response still waits for it.
        open.told_meanwhile = false;
    } else {
        return false;
    }
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
