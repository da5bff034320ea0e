//! The ends of calls, and their wording.

use serde::{Deserialize, Serialize};

/// The reason why a call or a question ends early.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelReason {
    /// The model cancelled the call.
    Model,
    /// An operator or the embedding program cancelled the call.
    Operator,
    /// The session closed.
    SessionClosed,
    /// For a question only: the process in which its tool waited is gone.
    RunnerGone,
    /// For a question only: its tool continued without the answer.
    ToolEnded,
    /// The call of the agent that made this call has ended.
    ParentEnded,
}

/// The end of a call, or the fact that it has not ended.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// No end: the response is news of an open call.
    Interim,
    /// The tool returned.
    Returned,
    /// The tool failed.
    Failed,
    /// The result of a paused call was supplied.
    Supplied,
    /// The policies refused the call.
    Refused,
    /// A person denied the call.
    Denied,
    /// No answer came before the deadline.
    Expired,
    /// The run exceeded its time limit.
    TimedOut,
    /// An operator or the embedding program cancelled the call.
    Cancelled,
    /// The run was cut off between start and end; its effect is unknown.
    Unknown,
    /// The model cancelled the call or the session closed. This is the only end without a response.
    Withdrawn,
}

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
