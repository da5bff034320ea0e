//! The requests that people are asked, and their answers.

use crate::record::finding::FoundAs;
use crate::values::actor::Actor;
use crate::values::endings::CancelReason;
use crate::values::id::Seq;

/// What became of a confirmation request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The call it is about.
    pub call: Seq,
    /// Its state.
    pub state: RequestState,
    /// How many answers to it were refused so far.
    pub refused: u32,
}

/// The state of a confirmation request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestState {
    /// It waits for an answer.
    Open,
    /// It was answered.
    Answered(Answered),
    /// Nobody answered in time.
    Expired {
        /// The record that says so.
        at: Seq,
    },
    /// The question has become pointless.
    Withdrawn {
        /// The record that says so.
        at: Seq,
        /// Why.
        reason: CancelReason,
    },
    /// The question was asked anew.
    Superseded {
        /// The request that took its place.
        by: Seq,
    },
}

/// The answer that counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The `confirmation_answered` record.
    pub at: Seq,
    /// What it said.
    pub confirmed: bool,
    /// What it settled a call in doubt as, in place of a yes or a no.
    pub found: Option<FoundAs>,
    /// Who said it.
    pub by: Actor,
}
