//! The confirmation requests and their answers.

use crate::record::finding::FoundAs;
use crate::values::actor::Actor;
use crate::values::endings::CancelReason;
use crate::values::id::Seq;

/// A confirmation request and its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The call that the request is about.
    pub call: Seq,
    /// The state of the request.
    pub state: RequestState,
    /// The number of answers that were refused so far.
    pub refused: u32,
}

/// The state of a confirmation request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestState {
    /// The request waits for an answer.
    Open,
    /// The request was answered.
    Answered(Answered),
    /// The request expired without an answer.
    Expired {
        /// The `confirmation_expired` record.
        at: Seq,
    },
    /// The request was withdrawn because it became pointless.
    Withdrawn {
        /// The `confirmation_withdrawn` record.
        at: Seq,
        /// The reason.
        reason: CancelReason,
    },
    /// The request was replaced by a new one.
    Superseded {
        /// The request that replaced it.
        by: Seq,
    },
}

/// The answer that counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The `confirmation_answered` record.
    pub at: Seq,
    /// True if the answer was a yes.
    pub confirmed: bool,
    /// The stated outcome of a call in doubt, which replaces a yes or a no.
    pub found: Option<FoundAs>,
    /// The approver.
    pub by: Actor,
}
