//! The end of a session that a tool asked for.

use serde::{Deserialize, Serialize};

use crate::values::actor::Actor;
use crate::values::id::Seq;
use crate::values::time::Timestamp;

/// A session that is about to end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closing {
    /// The `tool_returned` that says so.
    pub of: Seq,
    /// The call whose reply goes first: of the tool, or of the agent in whose run it was called.
    pub call: Seq,
    /// When.
    pub since: Timestamp,
    /// Why, in the tool's words.
    pub reason: String,
    /// The tool, as who ends it.
    pub by: Actor,
}
