//! The idempotency keys of callers: one key is one call for the life of its session.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::json::write_canonical;
use crate::record::observation::FunctionCallReceived;
use crate::values::id::Seq;
use crate::values::object::ObjectHash;

/// The maximum length of a caller's key, in bytes. A UUID has 36, and a path of a few ids fits.
pub const KEY_BYTES_MAX: usize = 200;

/// The calls of a session that have a key.
///
/// Each takes the same space however long its key is. The response of an ended call is in the
/// journal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeyedCalls(BTreeMap<ObjectHash, KeyedCall>);

/// A call that has a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeyedCall {
    /// The `function_call_received` record.
    pub(crate) call: Seq,
    /// The hash of the tool's name and the arguments as recorded. Secret arguments are sealed
    /// there, so that the hash does not help to guess them.
    pub(crate) asks_for: ObjectHash,
}

impl KeyedCalls {
    /// The call with this key.
    pub(crate) fn get(&self, key: &str) -> Option<KeyedCall> {
        self.0.get(&ObjectHash::of(key.as_bytes())).copied()
    }

    /// True if the call has a key.
    pub(crate) fn has(&self, call: Seq) -> bool {
        self.0.values().any(|it| it.call == call)
    }

    /// Adds a call. Returns false if its key is of an earlier call.
    pub(crate) fn add(&mut self, key: &str, call: Seq, it: &FunctionCallReceived) -> bool {
        let key = ObjectHash::of(key.as_bytes());
        if self.0.contains_key(&key) {
            return false;
        }
        let asks_for = asks_for(it);
        self.0.insert(key, KeyedCall { call, asks_for });
        true
    }

    /// True if no call has a key.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The hash of the text of a call: the tool's name and its canonical arguments.
pub(crate) fn asks_for(it: &FunctionCallReceived) -> ObjectHash {
    let mut text = it.name.clone().unwrap_or_default();
    text.push('\u{1}');
    write_canonical(it.args.as_ref().map_or("{}", |it| it.as_str()), &mut text);
    ObjectHash::of(text.as_bytes())
}
