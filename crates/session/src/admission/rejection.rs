//! Rejections: the reasons why a command was rejected, with their codes and their texts.

use super::claiming::ClaimRejection;
use super::command::BODY_BYTES_MAX;
use super::pausing;
use super::unfit_answer::UnfitAnswer;
use crate::calls::keys::KEY_BYTES_MAX;
use crate::calls::requests::Answered;
use crate::calls::settled::{Reconciled, Supplied};
use crate::json::{DEPTH_MAX, JsonProblem};
use crate::record::approvals::needs::Barred;
use crate::record::decision::{CancelReason, Outcome};
use crate::record::finding::FoundAs;
use crate::record::observation::PauseScope;
use crate::state::pauses::Pause;
use crate::state::standing::LeaveEnd;
use crate::values::id::Seq;

/// The reason why a command was rejected. It is a normal result, not a failure of the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The session has no such request.
    UnknownRequest {
        /// The request in the command.
        request: Seq,
    },
    /// The request was answered before. The first answer counts.
    AlreadyAnswered(Answered),
    /// The request expired.
    RequestExpired {
        /// The `confirmation_expired` record.
        at: Seq,
        /// True if the call runs without an answer.
        goes_on: bool,
    },
    /// The request was withdrawn.
    RequestWithdrawn {
        /// The `confirmation_withdrawn` record.
        at: Seq,
        /// The reason.
        reason: CancelReason,
    },
    /// The tool changed, and a new request replaced this one.
    RequestSuperseded {
        /// The request to answer instead.
        by: Seq,
    },
    /// The answer has a defect. The request stays open.
    UnfitAnswer(UnfitAnswer),
    /// The process that serves the session does not have the tool, so it could not run after an
    /// approval. A denial is accepted.
    ToolGone {
        /// The call's tool.
        tool: String,
    },
    /// The approver has given as many approvals in the last minute as the policies allow. The
    /// request stays open. A denial is accepted.
    TooManyAnswers {
        /// The limit, in approvals per minute.
        max: u32,
    },
    /// The tool does not allow an approver to change the arguments.
    EditsNotAllowed,
    /// The tool does not let an approval allow later calls, or the request is not about its gate.
    LeaveNotPermitted,
    /// The session has no such standing leave.
    UnknownLeave {
        /// The leave in the command.
        leave: Seq,
    },
    /// The standing leave ended before.
    LeaveEnded {
        /// The leave.
        leave: Seq,
        /// Its end.
        end: Box<LeaveEnd>,
    },
    /// The actor could not have given the standing leave, so it may not revoke it.
    LeaveBarred(Barred),
    /// The request is not about a call in doubt, so no outcome can be reported. The request stays
    /// open.
    NothingToSettle,
    /// The actor may not answer this request. The request stays open.
    Barred(Barred),
    /// The person approved the request before. The request stays open.
    AlreadyApproved {
        /// The `approval_given` record.
        at: Seq,
    },
    /// The arguments or the payload differ from those of the first approval. The request stays
    /// open.
    OtherContent {
        /// The `approval_given` record of the first approval.
        at: Seq,
    },
    /// The session has no such call.
    UnknownCall {
        /// The call in the command.
        call: Seq,
    },
    /// The call ended before.
    CallSettled {
        /// The call.
        call: Seq,
        /// The outcome of the call.
        outcome: Outcome,
        /// The record that ended it.
        at: Seq,
    },
    /// The call has not ended, so its outcome is not unknown.
    CallOpen {
        /// The call.
        call: Seq,
        /// The phase of the call.
        phase: &'static str,
    },
    /// The outcome of the call is known.
    OutcomeKnown {
        /// The call.
        call: Seq,
        /// The outcome of the call.
        outcome: Outcome,
    },
    /// The outcome was reported before. The first report counts.
    AlreadyReconciled(Reconciled),
    /// The call already has its result from outside.
    AlreadySupplied {
        /// The recorded result.
        supplied: Supplied,
        /// True if the new result has the same bytes as the recorded one, so nothing is left to do.
        same: bool,
    },
    /// The call does not wait for a result from outside.
    CallNotPaused {
        /// The call.
        call: Seq,
        /// The phase of the call.
        phase: &'static str,
    },
    /// The response names another tool.
    WrongName {
        /// The call's tool.
        expected: String,
        /// The name in the command.
        found: String,
    },
    /// The response is not a JSON object.
    ResponseNotAnObject,
    /// The change of the state cannot be recorded.
    UnfitState {
        /// The reason.
        problem: String,
    },
    /// A request of a client that runs calls was refused.
    Claim(ClaimRejection),
    /// The idempotency key of a call is empty or too long.
    UnfitKey {
        /// The length of the key, in bytes.
        bytes: usize,
    },
    /// The idempotency key is of an earlier call with another tool or other arguments.
    KeyReused {
        /// The earlier call.
        call: Seq,
    },
    /// The session is closed.
    SessionClosed,
    /// The pause is in force already.
    AlreadyPaused(Box<Pause>),
    /// No such pause is in force.
    NotPaused {
        /// The scope in the command.
        scope: PauseScope,
    },
    /// The session has no such tool and no open call of it, so a pause would hold nothing.
    UnknownTool {
        /// The name in the command.
        tool: String,
    },
    /// The input is larger than a record may be.
    TooLarge {
        /// The size of the input, in bytes.
        bytes: usize,
    },
    /// The JSON is nested more than [`DEPTH_MAX`] levels deep, including the levels around it in
    /// the record.
    TooDeep,
    /// The JSON is such that some readers would reject it or parse it differently.
    UnfitJson {
        /// The problem that was found.
        problem: JsonProblem,
    },
}

impl Rejection {
    /// Returns a short stable code, as `answer_refused` records it.
    pub fn code(&self) -> &'static str {
        match self {
            Rejection::UnknownRequest { .. } => "unknown_request",
            Rejection::AlreadyAnswered(_) => "already_answered",
            Rejection::RequestExpired { .. } => "request_expired",
            Rejection::RequestWithdrawn { .. } => "request_withdrawn",
            Rejection::RequestSuperseded { .. } => "request_superseded",
            Rejection::UnfitAnswer(UnfitAnswer::Malformed { .. }) => "malformed_answer",
            Rejection::UnfitAnswer(UnfitAnswer::OtherRequest { .. }) => "other_request",
            Rejection::UnfitAnswer(UnfitAnswer::InvalidPayload { .. }) => "invalid_payload",
            Rejection::UnfitAnswer(UnfitAnswer::InvalidArgs { .. }) => "invalid_args",
            Rejection::UnfitAnswer(UnfitAnswer::InvalidLeave { .. }) => "invalid_leave",
            Rejection::UnfitAnswer(UnfitAnswer::WrongName { .. }) => "wrong_name",
            Rejection::UnfitAnswer(UnfitAnswer::AnswersTheCall { .. }) => "answers_the_call",
            Rejection::UnfitAnswer(UnfitAnswer::ForeignSession { .. }) => "foreign_session",
            Rejection::ToolGone { .. } => "tool_gone",
            Rejection::TooManyAnswers { .. } => "too_many_answers",
            Rejection::EditsNotAllowed => "edits_not_allowed",
            Rejection::LeaveNotPermitted => "leave_not_permitted",
            Rejection::UnknownLeave { .. } => "unknown_leave",
            Rejection::LeaveEnded { .. } => "leave_ended",
            Rejection::NothingToSettle => "nothing_to_settle",
            Rejection::Barred(barred) | Rejection::LeaveBarred(barred) => barred.code(),
            Rejection::AlreadyApproved { .. } => "already_approved",
            Rejection::OtherContent { .. } => "other_content",
            Rejection::UnknownCall { .. } => "unknown_call",
            Rejection::CallSettled { .. } => "call_settled",
            Rejection::CallOpen { .. } => "call_open",
            Rejection::OutcomeKnown { .. } => "outcome_known",
            Rejection::AlreadyReconciled(_) => "already_reconciled",
            Rejection::AlreadySupplied { same: true, .. } => "already_on_record",
            Rejection::AlreadySupplied { same: false, .. } => "already_supplied",
            Rejection::CallNotPaused { .. } => "call_not_paused",
            Rejection::WrongName { .. } => "wrong_name",
            Rejection::ResponseNotAnObject => "response_not_an_object",
            Rejection::UnfitState { .. } => "unfit_state",
            Rejection::Claim(claim) => claim.code(),
            Rejection::UnfitKey { .. } => "unfit_key",
            Rejection::KeyReused { .. } => "key_reused",
            Rejection::SessionClosed => "session_closed",
            Rejection::AlreadyPaused(_) => "already_paused",
            Rejection::NotPaused { .. } => "not_paused",
            Rejection::UnknownTool { .. } => "unknown_tool",
            Rejection::TooLarge { .. } => "too_large",
            Rejection::TooDeep => "too_deep",
            Rejection::UnfitJson { .. } => "unfit_json",
        }
    }

    /// True if the request or the outcome of the call is still undecided, so that another command
    /// may succeed.
    ///
    /// ```
    /// use recount_session::{Rejection, Seq};
    /// assert!(Rejection::EditsNotAllowed.leaves_open());
    /// assert!(!Rejection::RequestExpired { at: Seq(9), goes_on: false }.leaves_open());
    /// ```
    pub fn leaves_open(&self) -> bool {
        match self {
            Rejection::UnfitAnswer(_)
            | Rejection::ToolGone { .. }
            | Rejection::TooManyAnswers { .. }
            | Rejection::EditsNotAllowed
            | Rejection::LeaveNotPermitted
            | Rejection::NothingToSettle
            | Rejection::Barred(_)
            | Rejection::LeaveBarred(_)
            | Rejection::AlreadyApproved { .. }
            | Rejection::OtherContent { .. }
            | Rejection::CallOpen { .. }
            | Rejection::CallNotPaused { .. }
            | Rejection::WrongName { .. }
            | Rejection::ResponseNotAnObject
            | Rejection::UnfitState { .. }
            | Rejection::Claim(_)
            | Rejection::UnfitKey { .. }
            | Rejection::TooLarge { .. }
            | Rejection::TooDeep
            | Rejection::UnfitJson { .. } => true,
            Rejection::UnknownRequest { .. }
            | Rejection::UnknownLeave { .. }
            | Rejection::LeaveEnded { .. }
            | Rejection::AlreadyAnswered(_)
            | Rejection::RequestExpired { .. }
            | Rejection::RequestWithdrawn { .. }
            | Rejection::RequestSuperseded { .. }
            | Rejection::UnknownCall { .. }
            | Rejection::CallSettled { .. }
            | Rejection::OutcomeKnown { .. }
            | Rejection::AlreadyReconciled(_)
            | Rejection::AlreadySupplied { .. }
            | Rejection::AlreadyPaused(_)
            | Rejection::NotPaused { .. }
            | Rejection::UnknownTool { .. }
            | Rejection::KeyReused { .. }
            | Rejection::SessionClosed => false,
        }
    }
}

/// The clause about a request whose call runs without an answer.
const UNANSWERED: &str = ", and its call runs without an answer, as its policy says";

impl std::fmt::Display for Rejection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Rejection::UnknownRequest { request } => {
                write!(f, "the session has no confirmation request {request}")
            }
            Rejection::AlreadyAnswered(Answered {
                at,
                confirmed,
                found,
                by,
            }) => {
                let what = match found {
                    Some(FoundAs::Done) => "settled as done",
                    Some(FoundAs::Failed) => "settled as failed",
                    None if *confirmed => "approved",
                    None => "denied",
                };
                write!(f, "it was {what} by {} before, at seq {at}", by.in_short())
            }
            Rejection::RequestExpired { at, goes_on } => {
                let without = if *goes_on { UNANSWERED } else { "" };
                write!(f, "the request expired, at seq {at}{without}")
            }
            Rejection::RequestWithdrawn { at, reason } => {
                write!(
                    f,
                    "the request was withdrawn, at seq {at}: {}",
                    reason.in_words()
                )
            }
            Rejection::RequestSuperseded { by } => {
                write!(
                    f,
                    "the tool has changed and the question was asked anew, at seq {by}"
                )
            }
            Rejection::UnfitAnswer(unfit) => {
                write!(
                    f,
                    "the answer does not count, and the request stays open: {unfit}"
                )
            }
            Rejection::ToolGone { tool } => write!(
                f,
                "the program that serves the session has no tool {tool:?} any more; \
                 the request stays open"
            ),
            Rejection::TooManyAnswers { max } => write!(
                f,
                "one person may give {max} approvals a minute in this session, and has; \
                 the request stays open"
            ),
            Rejection::EditsNotAllowed => f.write_str(
                "the tool does not let its arguments be changed, and the request stays open",
            ),
            Rejection::LeaveNotPermitted => f.write_str(
                "an approval of this request cannot allow later calls, and the request stays open",
            ),
            Rejection::UnknownLeave { leave } => {
                write!(f, "the session has no standing leave {leave}")
            }
            Rejection::LeaveBarred(barred) => write!(f, "{barred}; the leave stands"),
            Rejection::LeaveEnded { leave, end } => write!(f, "standing leave {leave}: {end}"),
            Rejection::NothingToSettle => f.write_str(
                "the request does not ask about a run that was cut off, \
                 so there is nothing to settle; it stays open",
            ),
            Rejection::Barred(barred) => write!(f, "{barred}; the request stays open"),
            Rejection::AlreadyApproved { at } => write!(
                f,
                "this person approved it before, at seq {at}, and counts once; \
                 the request stays open"
            ),
            Rejection::OtherContent { at } => write!(
                f,
                "the arguments or the payload are not those of the first approval, at seq {at}; \
                 the request stays open"
            ),
            Rejection::UnknownCall { call } => write!(f, "the session has no call {call}"),
            Rejection::CallSettled { call, outcome, .. } => {
                write!(f, "call {call} ended before: {}", outcome.in_words())
            }
            Rejection::CallOpen { call, phase } => {
                write!(f, "call {call} has not ended: it is {phase}")
            }
            Rejection::OutcomeKnown { call, outcome } => {
                write!(
                    f,
                    "what became of call {call} is known: {}",
                    outcome.in_words()
                )
            }
            Rejection::AlreadyReconciled(Reconciled { at, found, by }) => {
                write!(
                    f,
                    "it was found {} by {} before, at seq {at}",
                    found.as_str(),
                    by.in_short()
                )
            }
            Rejection::AlreadySupplied { supplied, same } => {
                let which = if *same {
                    "this result"
                } else {
                    "another result"
                };
                let Supplied { at, by, .. } = supplied;
                write!(f, "{which} is on record, by {}, at seq {at}", by.in_short())
            }
            Rejection::CallNotPaused { call, phase } => {
                write!(
                    f,
                    "call {call} does not wait for a response from outside: it is {phase}"
                )
            }
            Rejection::WrongName { expected, found } => {
                write!(
                    f,
                    "the response names {found:?}, the call is to {expected:?}"
                )
            }
            Rejection::ResponseNotAnObject => f.write_str("a response must be a JSON object"),
            Rejection::UnfitState { problem } => f.write_str(problem),
            Rejection::Claim(claim) => claim.fmt(f),
            Rejection::UnfitKey { bytes } => write!(
                f,
                "the key of a call takes 1 to {KEY_BYTES_MAX} bytes, and this one has {bytes}"
            ),
            Rejection::KeyReused { call } => write!(
                f,
                "the key is of call {call}, which has another tool or other arguments"
            ),
            Rejection::SessionClosed => f.write_str("the session is closed"),
            Rejection::AlreadyPaused(pause) => f.write_str(&pausing::already_paused(pause)),
            Rejection::NotPaused { scope } => write!(f, "{scope} is not paused"),
            Rejection::UnknownTool { tool } => f.write_str(&pausing::unknown_tool(tool)),
            Rejection::TooLarge { bytes } => {
                write!(
                    f,
                    "it takes {bytes} bytes on record, the limit is {BODY_BYTES_MAX}"
                )
            }
            Rejection::TooDeep => write!(
                f,
                "it nests deeper than {DEPTH_MAX} levels, with what is wrapped around it on record"
            ),
            Rejection::UnfitJson { problem } => write!(f, "its JSON does not do: {problem}"),
        }
    }
}

impl std::error::Error for Rejection {}

impl From<ClaimRejection> for Rejection {
    fn from(claim: ClaimRejection) -> Rejection {
        Rejection::Claim(claim)
    }
}
