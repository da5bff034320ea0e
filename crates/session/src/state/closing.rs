//! The end of a session that a tool asked for.

use serde::{Deserialize, Serialize};

use crate::values::actor::Actor;
use crate::values::id::Seq;
use crate::values::time::Timestamp;

/// A session that is about to end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closing {
    /// The `tool_returned` record that asks for the end.
    pub of: Seq,
    /// The call whose response is sent first: the tool's own call, or the outermost agent call
    /// around it.
    pub call: Seq,
    /// The time of the request.
    pub since: Timestamp,
    /// The tool's reason.
    pub reason: String,
    /// The tool, as the actor that ends the session.
    pub by: Actor,
}
