//! Calls of the embedding program, made without a model but with the same tools, policies and
//! journal.

use serde_json::Value;
use tokio::sync::oneshot;

use crate::session::Outcome;
use crate::tool::ToolError;

/// The reply channel to a caller.
pub(in crate::engine) type Answer = oneshot::Sender<Result<Value, ToolError>>;

/// The caller of a function.
pub(in crate::engine) struct Caller {
    pub(in crate::engine) answer: Answer,
    /// The results of its streaming tool so far. None for other tools.
    pub(in crate::engine) given: Option<Vec<Value>>,
}

impl Caller {
    /// True if the caller no longer waits.
    pub(in crate::engine) fn is_closed(&self) -> bool {
        self.answer.is_closed()
    }
}

/// Returns the result of a call, for its caller.
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
