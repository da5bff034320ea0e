//! Commands: requests from outside that a session may reject.

use super::pausing::{self, PauseCommand};
use crate::calls::requests::Answered;
use crate::calls::settled::Reconciled;
use crate::calls::settled::Supplied;
use crate::json::DEPTH_MAX;
use crate::json::Json;
use crate::json::JsonProblem;
use crate::record::answers::ToolConfirmation;
use crate::record::decision::CancelReason;
use crate::record::decision::Outcome;
use crate::record::finding::{Finding, FoundAs};
use crate::record::observation::{PauseScope, StateChange};
use crate::state::pauses::Pause;
use crate::values::actor::Actor;
use crate::values::id::Seq;
use crate::values::id::SessionId;
use crate::values::object::ObjectHash;

/// A request from outside.
#[expect(
    clippy::large_enum_variant,
    reason = "there is one at a time, on its way to the record"
)]
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
    /// Writes to the state.
    ChangeState {
        /// The writes, applied as one change.
        changes: Vec<StateChange>,
        /// The actor that writes.
        by: Actor,
    },
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

/// A defect of an answer, independent of the state of its request.
///
/// Only the entry point can find it, because it knows the text of the answer, the schemas, and the
/// record of the question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnfitAnswer {
    /// The answer is neither an approval nor a denial.
    Malformed {
        /// The expected and the found value.
        problem: String,
    },
    /// The answer names a request other than the recorded one.
    OtherRequest {
        /// The hash of the recorded request.
        expected: ObjectHash,
        /// The hash in the answer.
        found: ObjectHash,
    },
    /// The payload does not fit the schema of the question, or the question has no schema.
    InvalidPayload {
        /// The violation of the schema.
        problem: String,
    },
    /// The edited arguments do not fit the tool's schema, or change sealed values.
    InvalidArgs {
        /// The violation.
        problem: String,
    },
    /// The answer names a function other than the one for answers.
    WrongName {
        /// The function for answers.
        expected: String,
        /// The name in the answer.
        found: String,
    },
    /// The answer is a result for the waiting call, as if its tool had run.
    AnswersTheCall {
        /// The id of the call in the answer.
        id: String,
    },
    /// The answer arrived under another session than the one that asked.
    ForeignSession {
        /// The session of the answer.
        session: SessionId,
    },
}

impl std::fmt::Display for UnfitAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            UnfitAnswer::Malformed { problem } => write!(f, "malformed: {problem}"),
            UnfitAnswer::OtherRequest { expected, found } => {
                write!(
                    f,
                    "it is to the request with the hash {found}, the one on record has {expected}"
                )
            }
            UnfitAnswer::InvalidPayload { problem } => {
                write!(f, "its payload does not fit: {problem}")
            }
            UnfitAnswer::InvalidArgs { problem } => {
                write!(f, "the edited arguments do not fit: {problem}")
            }
            UnfitAnswer::WrongName { expected, found } => {
                write!(f, "it names {found:?} and not {expected:?}")
            }
            UnfitAnswer::AnswersTheCall { id } => {
                write!(
                    f,
                    "it is a result for the call {id:?}, about which a person is being asked"
                )
            }
            UnfitAnswer::ForeignSession { session } => {
                write!(f, "it came under the session {session}, which did not ask")
            }
        }
    }
}

impl std::error::Error for UnfitAnswer {}

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
    /// The tool does not allow an approver to change the arguments.
    EditsNotAllowed,
    /// The request is not about a call in doubt, so no outcome can be reported. The request stays
    /// open.
    NothingToSettle,
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

/// The maximum size of the body of a record from outside, in bytes. A sealed body is a third
/// larger, which still fits into the journal.
pub const BODY_BYTES_MAX: usize = (3 << 20) - 4096;

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
            Rejection::UnfitAnswer(UnfitAnswer::WrongName { .. }) => "wrong_name",
            Rejection::UnfitAnswer(UnfitAnswer::AnswersTheCall { .. }) => "answers_the_call",
            Rejection::UnfitAnswer(UnfitAnswer::ForeignSession { .. }) => "foreign_session",
            Rejection::ToolGone { .. } => "tool_gone",
            Rejection::EditsNotAllowed => "edits_not_allowed",
            Rejection::NothingToSettle => "nothing_to_settle",
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
    /// assert!(!Rejection::RequestExpired { at: Seq(9) }.leaves_open());
    /// ```
    pub fn leaves_open(&self) -> bool {
        match self {
            Rejection::UnfitAnswer(_)
            | Rejection::ToolGone { .. }
            | Rejection::EditsNotAllowed
            | Rejection::NothingToSettle
            | Rejection::CallOpen { .. }
            | Rejection::CallNotPaused { .. }
            | Rejection::WrongName { .. }
            | Rejection::ResponseNotAnObject
            | Rejection::UnfitState { .. }
            | Rejection::TooLarge { .. }
            | Rejection::TooDeep
            | Rejection::UnfitJson { .. } => true,
            Rejection::UnknownRequest { .. }
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
            | Rejection::SessionClosed => false,
        }
    }
}

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
            Rejection::RequestExpired { at } => write!(f, "the request expired, at seq {at}"),
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
            Rejection::EditsNotAllowed => f.write_str(
                "the tool does not let its arguments be changed, and the request stays open",
            ),
            Rejection::NothingToSettle => f.write_str(
                "the request does not ask about a run that was cut off, \
                 so there is nothing to settle; it stays open",
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
