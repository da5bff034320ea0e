//! The accepted parts of a client's message.

use crate::session::{CallId, RequestId, Seq};

/// An accepted part of a client's message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Received {
    /// The user's text was sent to the model.
    Said,
    /// A confirmation request was answered.
    Answered {
        /// The request.
        request: RequestId,
        /// The record of the answer.
        at: Seq,
    },
    /// A confirmation request that needs several approvals received one more. It stays open.
    Approved {
        /// The request.
        request: RequestId,
        /// The `approval_given` record.
        at: Seq,
        /// The number of approvals that are still needed.
        missing: u32,
    },
    /// A paused call received its result.
    Supplied {
        /// The call.
        call: CallId,
        /// The record of the response.
        at: Seq,
    },
}
