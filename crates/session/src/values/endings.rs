//! The ends of calls, and the words for them.

use serde::{Deserialize, Serialize};

/// Why a call ends early.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelReason {
    /// The model took it back.
    Model,
    /// Somebody outside took it back.
    Operator,
    /// The session closed.
    SessionClosed,
    /// Of a question only: the process in which its tool waited is gone.
    RunnerGone,
    /// Of a question only: its tool went on without the answer.
    ToolEnded,
    /// The call of the agent that made it has ended.
    ParentEnded,
}

/// How a call ended, or that it goes on.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// No end: the model hears of a call that goes on.
    Interim,
    /// The tool returned.
    Returned,
    /// The tool failed.
    Failed,
    /// The result of a paused call was supplied.
    Supplied,
    /// The policies refused it.
    Refused,
    /// A person said no.
    Denied,
    /// Nobody answered in time.
    Expired,
    /// Its time was up.
    TimedOut,
    /// Somebody outside took it back.
    Cancelled,
    /// It was cut off between start and end; nobody knows what it did.
    Unknown,
    /// The model took it back or the session closed: the one end without a response.
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
