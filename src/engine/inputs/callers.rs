//! Calls of the embedding program, made without a model but with the same tools, policies and
//! journal.

use serde_json::Value;
use tokio::sync::oneshot;

use super::registry::TaskRef;
use crate::engine::error::Error;
use crate::session::{Actor, Json, Outcome, Seq, SessionId};
use crate::tool::ToolError;

/// The reply channel to a caller.
pub(in crate::engine) type Answer = oneshot::Sender<Result<Value, ToolError>>;

/// A call of the embedding program.
pub(in crate::engine) struct ProgramCall {
    pub(in crate::engine) name: String,
    pub(in crate::engine) args: Json,
    pub(in crate::engine) by: Actor,
    pub(in crate::engine) key: Option<Key>,
}

/// The idempotency key of a call.
pub(in crate::engine) struct Key {
    pub(in crate::engine) key: String,
    /// Receives the call once it is on record, or the reason why it is refused.
    pub(in crate::engine) taken: oneshot::Sender<Result<Taken, Error>>,
}

/// A call with a key that is on record.
pub(in crate::engine) struct Taken {
    pub(in crate::engine) call: Seq,
    /// True if an earlier caller made it.
    pub(in crate::engine) repeated: bool,
}

/// The outcome of a call that was made with an idempotency key.
///
/// It is returned by [`LiveHandle::call_with_key`](crate::engine::LiveHandle::call_with_key).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct KeyedOutcome {
    /// The call: the seq of its `function_call_received`.
    pub call: Seq,
    /// True if an earlier caller made the call, with the same key and the same text.
    pub repeated: bool,
    /// The response, or the reason why the call failed.
    pub result: Result<Value, ToolError>,
}

/// A call with an idempotency key that is on record. Its outcome can be awaited.
///
/// It is returned by [`LiveHandle::begin_call`](crate::engine::LiveHandle::begin_call). Dropping it
/// does not affect the call.
pub struct BegunCall {
    /// The call: the seq of its `function_call_received`.
    pub call: Seq,
    /// True if an earlier caller made the call, with the same key and the same text.
    pub repeated: bool,
    pub(in crate::engine) session: SessionId,
    pub(in crate::engine) task: TaskRef,
    pub(in crate::engine) answer: oneshot::Receiver<Result<Value, ToolError>>,
}

impl BegunCall {
    /// Waits for the outcome of the call: the response, or the reason why the call failed.
    ///
    /// # Errors
    /// If the session's task has stopped. The call is on record, and its outcome will be, too.
    pub async fn outcome(self) -> Result<Result<Value, ToolError>, Error> {
        let (session, task) = (self.session, self.task);
        self.answer.await.map_err(|_| task.stopped(session))
    }
}

impl std::fmt::Debug for BegunCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BegunCall")
            .field("session", &self.session)
            .field("call", &self.call)
            .field("repeated", &self.repeated)
            .finish_non_exhaustive()
    }
}

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

    /// Sends the outcome of the call. Returns false if the caller is gone.
    pub(in crate::engine) fn answer(self, outcome: Result<Value, ToolError>) -> bool {
        let outcome = match (outcome, self.given) {
            (Ok(_), Some(given)) => Ok(Value::Array(given)),
            (outcome, _) => outcome,
        };
        self.answer.send(outcome).is_ok()
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
