//! Admission of a program's call that has an idempotency key.

use super::command::Rejection;
use crate::calls::keys::{KEY_BYTES_MAX, asks_for};
use crate::record::observation::FunctionCallReceived;
use crate::state::session::Session;
use crate::values::id::Seq;

/// Returns the earlier call with the same key and the same text, if there is one.
///
/// The text is the tool's name and the arguments as they are recorded, with their keys in any
/// order. A call without a key has no earlier one.
///
/// ```
/// use recount_session::testing::{history, toolbox};
/// use recount_session::{Event, Observation, earlier_call};
/// use serde_json::json;
///
/// let support = history().opened("support").attached(&toolbox().plain("look"));
/// let called = support.keyed_call("order-7", "look", json!({"a": 1, "b": 2}));
/// let call = called.facts().iter().find_map(|fact| match &fact.event {
///     Event::Observed(Observation::FunctionCallReceived(it)) => Some(it.clone()),
///     _ => None,
/// });
/// let known = earlier_call(called.session(), &call.ok_or("no call")?);
/// assert_eq!(known, Ok(Some(called.call_seq())));
/// # Ok::<(), &str>(())
/// ```
///
/// # Errors
/// [`Rejection::KeyReused`] if the key is of a call with another text, or [`Rejection::UnfitKey`]
/// if it is empty or longer than 200 bytes.
pub fn earlier_call(
    session: &Session,
    it: &FunctionCallReceived,
) -> Result<Option<Seq>, Rejection> {
    let Some(key) = it.key.as_deref() else {
        return Ok(None);
    };
    let bytes = key.len();
    if bytes == 0 || bytes > KEY_BYTES_MAX {
        return Err(Rejection::UnfitKey { bytes });
    }
    match session.keys.get(key) {
        Some(known) if known.asks_for == asks_for(it) => Ok(Some(known.call)),
        Some(known) => Err(Rejection::KeyReused { call: known.call }),
        None => Ok(None),
    }
}

impl Session {
    /// True if the program made the call with an idempotency key, and so may ask for its outcome
    /// again.
    #[doc(hidden)]
    #[must_use]
    pub fn has_key(&self, call: Seq) -> bool {
        self.keys.has(call)
    }
}
