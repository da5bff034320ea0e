//! The words for the ends of calls.

use crate::record::decision::{CancelReason, Outcome};

impl CancelReason {
    /// The reason as a clause.
    pub fn in_words(self) -> &'static str {
        match self {
            CancelReason::Model => "the model took the call back",
            CancelReason::Operator => "an operator cancelled the call",
            CancelReason::SessionClosed => "the session was closed",
            CancelReason::RunnerGone => "the process in which the tool waited is gone",
            CancelReason::ToolEnded => "the tool went on without the answer",
            CancelReason::ParentEnded => "the call of the agent that made it has ended",
        }
    }
}

impl Outcome {
    /// The outcome as a clause.
    pub fn in_words(self) -> &'static str {
        match self {
            Outcome::Interim => "it goes on",
            Outcome::Returned => "the tool returned",
            Outcome::Failed => "the tool failed",
            Outcome::Supplied => "its result was supplied",
            Outcome::Refused => "the policies refused it",
            Outcome::Denied => "a person denied it",
            Outcome::Expired => "nobody answered in time",
            Outcome::TimedOut => "its time was up",
            Outcome::Cancelled => "an operator cancelled it",
            Outcome::Unknown => "it was cut off and its outcome is unknown",
            Outcome::Withdrawn => "it was withdrawn",
        }
    }
}
