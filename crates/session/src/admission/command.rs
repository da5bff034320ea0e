//! Commands: requests from outside that a session may reject.

use super::claiming::ClaimCommand;
use super::pausing::PauseCommand;
pub use super::rejection::Rejection;
pub use super::unfit_answer::UnfitAnswer;
use crate::json::Json;
use crate::record::approvals::answers::ToolConfirmation;
use crate::record::finding::Finding;
use crate::record::observation::StateChange;
use crate::values::actor::Actor;
use crate::values::id::Seq;

/// A request from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Answers a confirmation request.
    AnswerConfirmation {
        /// The request.
        request: Seq,
        /// The answer, or the defect that the entry point found in it. A defect is recorded as a
        /// refusal.
        answer: Result<ToolConfirmation, UnfitAnswer>,
        /// The actor that answers, as the entry point knows it.
        by: Actor,
    },
    /// Supplies the result of a paused call, or news of it.
    SupplyResponse {
        /// The call.
        call: Seq,
        /// The tool's name, which must be the call's.
        name: String,
        /// The response for the model.
        response: Json,
        /// True for news: the call stays paused, and more follows.
        will_continue: bool,
        /// The actor that supplies it.
        by: Actor,
    },
    /// Reports the outcome of a call that ended with an unknown one.
    ReconcileOutcome {
        /// The call.
        call: Seq,
        /// The tool that was called, as recorded.
        name: String,
        /// The outcome that was found.
        found: Finding,
        /// The actor that reports it.
        by: Actor,
    },
    /// Cancels a call.
    CancelCall {
        /// The call.
        call: Seq,
        /// The reason.
        reason: Option<String>,
        /// The actor that cancels.
        by: Actor,
    },
    /// Revokes a standing leave.
    RevokeLeave {
        /// The leave: the seq of the answer that gave it.
        leave: Seq,
        /// The reason.
        reason: Option<String>,
        /// The actor that revokes.
        by: Actor,
    },
    /// Writes to the state.
    ChangeState {
        /// The writes, applied as one change.
        changes: Vec<StateChange>,
        /// The actor that writes.
        by: Actor,
    },
    /// A request of a client that runs calls.
    Claim(ClaimCommand),
    /// Pauses the session, or one tool in it.
    Pause(PauseCommand),
    /// Ends the pause of the session, or of one tool in it.
    Unpause(PauseCommand),
    /// Closes the session.
    CloseSession {
        /// The reason.
        reason: String,
        /// The actor that closes.
        by: Actor,
    },
}

/// The maximum size of the body of a record from outside, in bytes. A sealed body is a third
/// larger, which still fits into the journal.
pub const BODY_BYTES_MAX: usize = (3 << 20) - 4096;
