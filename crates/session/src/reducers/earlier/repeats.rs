//! Repeats: equal calls that the model makes while the first one is open.
//!
//! ```text
//! received ─▶ policy_decided{pending} ─▶ response_issued{refused}, with the pending call's ticket
//! ```
//!
//! The repeat ends at once and nothing runs for it. The outcome of the pending call is sent under
//! that call's id, so no call is left waiting and nothing is sent twice. Two calls are equal as in
//! the cache: the same tool, and the same arguments as the model sent them. Calls of a program or
//! an agent are never repeats, because each caller waits for its own result.

use serde_json::{Map, Value, json};

use super::cache;
use crate::calls::call::Call;
use crate::calls::refusal_kinds::PENDING;
use crate::json::Json;
use crate::policies::policy::{Repeats, ToolPolicy};
use crate::state::session::Session;
use crate::values::id::Seq;
use crate::values::object::ObjectHash;

/// The key that identifies repeats of a call, if its tool's policy answers them.
pub(crate) fn key_of(policy: &ToolPolicy, call: &Call) -> Option<ObjectHash> {
    let answered = policy.repeats == Repeats::PendingTicket;
    (answered && call.flaw.is_none() && !call.made_inside()).then(|| cache::call_hash(call))
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

/// The response to a repeat: the ticket of the pending call.
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
