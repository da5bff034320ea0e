//! The parts of a client's message that were taken.

use crate::session::{CallId, RequestId, Seq};

/// A part of a client's message that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Received {
    /// The user's words were sent to the model.
    Said,
    /// A confirmation request was answered.
    Answered {
        /// The request.
        request: RequestId,
        /// The record of the answer.
        at: Seq,
    },
    /// A paused call was given its result.
    Supplied {
        /// The call.
        call: CallId,
        /// The record of the response.
        at: Seq,
    },
}
