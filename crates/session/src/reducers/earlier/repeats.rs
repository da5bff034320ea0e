//! The model repeats a call that has not ended.
//!
//! ```text
//! received ─▶ policy_decided{pending} ─▶ response_issued{refused}, with the ticket of the call that is pending
//! ```
//!
//! The repeat ends at once and nothing runs for it: what becomes of the pending call is told by
//! that one's id, so nobody is left waiting and nothing is told twice. Two calls are equal as the
//! cache has it: the same tool, and the same arguments as the model sent them. Calls that a program
//! or an agent makes repeat nothing, because each waits for its own.

use serde_json::{Map, Value, json};

use super::cache;
use crate::calls::call::Call;
use crate::calls::refusal_kinds::PENDING;
use crate::json::Json;
use crate::policies::policy::{Repeats, ToolPolicy};
use crate::state::session::Session;
use crate::values::id::Seq;
use crate::values::object::ObjectHash;

/// By what the repeats of a call are known, if its tool's policy answers them.
pub(crate) fn key_of(policy: &ToolPolicy, call: &Call) -> Option<ObjectHash> {
    let answered = policy.repeats == Repeats::PendingTicket;
    (answered && call.flaw.is_none() && !call.made_inside()).then(|| cache::asks_for(call))
}

/// The oldest open call that this one repeats.
pub(crate) fn pending(session: &Session, seq: Seq, call: &Call) -> Option<Seq> {
    let policy = session.terms.policies.of(&call.name);
    let key = call
        .repeat_key
        .filter(|_| policy.repeats == Repeats::PendingTicket)?;
    let mut older = session.calls.iter().take_while(|(it, _)| **it < seq);
    older
        .find(|(_, it)| it.repeat_key == Some(key))
        .map(|(it, _)| *it)
}

/// What a repeat is told.
pub(crate) fn ticket(session: &Session, seq: Seq, call: &Call) -> Option<Json> {
    let of = pending(session, seq, call)?;
    let mut words = Map::new();
    words.insert("status".to_owned(), json!(PENDING));
    words.insert("tool".to_owned(), json!(call.name));
    let first = session.calls.get(&of).and_then(|it| it.wire_id.as_ref());
    words.extend(first.map(|id| ("call".to_owned(), json!(id))));
    let name = session.id.call_id(of).to_string();
    words.insert("ticket".to_owned(), json!(name));
    let shape = session.terms.policies.response;
    Some(Json::of(&shape.success(Value::Object(words), None)))
}

#[cfg(test)]
#[path = "repeats_tests.rs"]
mod tests;
