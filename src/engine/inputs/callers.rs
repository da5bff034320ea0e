//! Calls that a program makes itself, without a model: a text pipeline's way to the same tools,
//! policies and journal.

use serde_json::Value;
use tokio::sync::oneshot;

use crate::session::Outcome;
use crate::tool::ToolError;

/// The way back to whoever made a call.
pub(in crate::engine) type Answer = oneshot::Sender<Result<Value, ToolError>>;

/// Whoever made a call.
pub(in crate::engine) struct Caller {
    pub(in crate::engine) answer: Answer,
    /// What its streaming tool has given so far; none of any other tool.
    pub(in crate::engine) given: Option<Vec<Value>>,
}

impl Caller {
    /// True if nobody waits any more.
    pub(in crate::engine) fn is_closed(&self) -> bool {
        self.answer.is_closed()
    }
}

/// The result of a call, for its caller.
pub(in crate::engine) fn result_of(outcome: Outcome, response: Value) -> Result<Value, ToolError> {
    match outcome {
        Outcome::Interim | Outcome::Returned | Outcome::Supplied => Ok(response),
        Outcome::Failed
        | Outcome::Refused
        | Outcome::Denied
        | Outcome::Expired
        | Outcome::TimedOut
        | Outcome::Cancelled
        | Outcome::Unknown
        | Outcome::Withdrawn => Err(ToolError::of_response(&response)),
    }
}
