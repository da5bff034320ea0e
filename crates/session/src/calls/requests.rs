//! The confirmation requests and their answers.

use serde::{Deserialize, Serialize};

use crate::json::Json;
use crate::record::approvals::needs::Needs;
use crate::record::approvals::standing::AllowFor;
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
    /// The terms of the answers, while the request is open. `None`: any one answer decides.
    pub asking: Option<Box<Asking>>,
}

/// The terms of an open request, and the approvals so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asking {
    /// The terms on record.
    pub needs: Needs,
    /// The approvals so far, each of another person.
    pub given: Vec<Approval>,
}

/// An approval that did not decide its request alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// The `approval_given` record.
    pub at: Seq,
    /// The approver.
    pub by: Actor,
    /// The arguments that the approver wrote in place of the model's.
    pub args: Option<Json>,
    /// The payload for the tool.
    pub payload: Option<Json>,
    /// The bound of the standing leave that the approver gives.
    pub allow_for: Option<AllowFor>,
}

impl Asking {
    /// The number of approvals that are still needed.
    #[must_use]
    pub fn missing(&self) -> u32 {
        let given = u32::try_from(self.given.len()).unwrap_or(u32::MAX);
        self.needs.approvals().saturating_sub(given)
    }
}

impl Request {
    /// The number of approvals that are still needed. 0 if the request is not open.
    #[must_use]
    pub fn missing(&self) -> u32 {
        match &self.state {
            RequestState::Open => self.asking.as_ref().map_or(1, |it| it.missing()),
            RequestState::Answered(_)
            | RequestState::Expired { .. }
            | RequestState::Withdrawn { .. }
            | RequestState::Superseded { .. } => 0,
        }
    }
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
        /// True if the call runs without an answer.
        goes_on: bool,
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
