//! What is asked of a session from outside and may be refused.

use crate::calls::requests::Answered;
use crate::calls::settled::Reconciled;
use crate::calls::settled::Supplied;
use crate::json::DEPTH_MAX;
use crate::json::Json;
use crate::json::JsonProblem;
use crate::record::answers::ToolConfirmation;
use crate::record::decision::CancelReason;
use crate::record::decision::Outcome;
use crate::record::finding::Finding;
use crate::record::finding::FoundAs;
use crate::record::observation::StateChange;
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
    /// Answer a confirmation request.
    AnswerConfirmation {
        /// The request.
        request: Seq,
        /// The answer, or what the door found wrong with it, which goes on record as refused.
        answer: Result<ToolConfirmation, UnfitAnswer>,
        /// Who answers, as the door that let them in knows.
        by: Actor,
    },
    /// Give the result of a paused call, or news of it.
    SupplyResponse {
        /// The call.
        call: Seq,
        /// The tool's name, which must be the call's.
        name: String,
        /// The response for the model.
        response: Json,
        /// It is news: the call stays paused, and more follows.
        will_continue: bool,
        /// Who supplies it.
        by: Actor,
    },
    /// Say what became of a call whose outcome was unknown when it ended.
    ReconcileOutcome {
        /// The call.
        call: Seq,
        /// The tool that was called, as its record has it.
        name: String,
        /// What became of it.
        found: Finding,
        /// Who says so.
        by: Actor,
    },
    /// Take a call back.
    CancelCall {
        /// The call.
        call: Seq,
        /// Why.
        reason: Option<String>,
        /// Who.
        by: Actor,
    },
    /// Write to the state.
    ChangeState {
        /// What is written, as one change.
        changes: Vec<StateChange>,
        /// Who.
        by: Actor,
    },
    /// End the session.
    CloseSession {
        /// Why.
        reason: String,
        /// Who.
        by: Actor,
    },
}

/// What is wrong with an answer, whatever became of the request: something that only its door can
/// see, which knows the text that came, the schemas, and the record of the question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnfitAnswer {
    /// It says neither yes nor no.
    Malformed {
        /// What was expected, and what came.
        problem: String,
    },
    /// It is to a request other than the one on record.
    OtherRequest {
        /// The hash of the request on record.
        expected: ObjectHash,
        /// The hash that came.
        found: ObjectHash,
    },
    /// The payload does not fit the schema that the question names, or the question asks for none.
    InvalidPayload {
        /// What the schema has against it.
        problem: String,
    },
    /// The edited arguments do not fit the tool's schema, or touch what is sealed.
    InvalidArgs {
        /// What is wrong with them.
        problem: String,
    },
    /// It names another function than the one by which the request is answered.
    WrongName {
        /// That function.
        expected: String,
        /// The name that came.
        found: String,
    },
    /// It is a result for the call that waits, as if its tool had run, and not an answer to the
    /// request.
    AnswersTheCall {
        /// The id of the call that came.
        id: String,
    },
    /// It came under another session than the one that asked.
    ForeignSession {
        /// The session under which it came.
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

/// Why a command was not taken: a value to act on, not a failure of the machinery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The session has no such request.
    UnknownRequest {
        /// What was asked for.
        request: Seq,
    },
    /// Somebody answered before; theirs counts.
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
        /// Why.
        reason: CancelReason,
    },
    /// The tool changed, and the question was asked anew.
    RequestSuperseded {
        /// The request to answer instead.
        by: Seq,
    },
    /// The answer itself is not one that can count; the request stays open.
    UnfitAnswer(UnfitAnswer),
    /// The process that serves the session does not have the tool, so a yes would lead nowhere; a
    /// no is taken.
    ToolGone {
        /// The call's tool.
        tool: String,
    },
    /// The tool does not let a person change the arguments.
    EditsNotAllowed,
    /// The request does not ask about a run that was cut off, so there is no outcome to be found
    /// out; it stays open.
    NothingToSettle,
    /// The session has no such call.
    UnknownCall {
        /// What was asked for.
        call: Seq,
    },
    /// The call ended before.
    CallSettled {
        /// The call.
        call: Seq,
        /// How it ended.
        outcome: Outcome,
        /// The record that ended it.
        at: Seq,
    },
    /// The call has not ended, so there is no unknown outcome.
    CallOpen {
        /// The call.
        call: Seq,
        /// What it does.
        phase: &'static str,
    },
    /// The call ended in a way that is known.
    OutcomeKnown {
        /// The call.
        call: Seq,
        /// How it ended.
        outcome: Outcome,
    },
    /// Somebody found out before; their word counts.
    AlreadyReconciled(Reconciled),
    /// The call has its result from outside already.
    AlreadySupplied {
        /// What is on record.
        supplied: Supplied,
        /// Whether that is what came now, byte for byte: then there is nothing left to do.
        same: bool,
    },
    /// The call does not wait for a response from outside.
    CallNotPaused {
        /// The call.
        call: Seq,
        /// What it does instead.
        phase: &'static str,
    },
    /// The response names another tool.
    WrongName {
        /// The call's tool.
        expected: String,
        /// The name that came.
        found: String,
    },
    /// The response is not a JSON object.
    ResponseNotAnObject,
    /// What was written to the state cannot be on record.
    UnfitState {
        /// Why.
        problem: String,
    },
    /// The session is closed.
    SessionClosed,
    /// It is larger than what goes on record.
    TooLarge {
        /// What came, in bytes.
        bytes: usize,
    },
    /// Its JSON nests deeper than a record takes: [`DEPTH_MAX`] levels, those included that are
    /// wrapped around it on record.
    TooDeep,
    /// Its JSON is such that not every reader of the record would read it, or read the same.
    UnfitJson {
        /// The problem that was found in it.
        problem: JsonProblem,
    },
}

/// The maximum size of the body of a record that comes from outside, in bytes. Sealed it takes a
/// third more, which the journal still takes.
pub const BODY_BYTES_MAX: usize = (3 << 20) - 4096;

impl Rejection {
    /// A short stable name, as `answer_refused` records it.
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
            Rejection::TooLarge { .. } => "too_large",
            Rejection::TooDeep => "too_deep",
            Rejection::UnfitJson { .. } => "unfit_json",
        }
    }

    /// Whether the request, or what became of the call, is not decided, so that another word about
    /// it may count.
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
                "the program that serves the session has no tool {tool:?} any more; the request stays open"
            ),
            Rejection::EditsNotAllowed => f.write_str(
                "the tool does not let its arguments be changed, and the request stays open",
            ),
            Rejection::NothingToSettle => f.write_str(
                "the request does not ask about a run that was cut off, so there is nothing to settle; it stays open",
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
                let which = if *same { "this result" } else { "another result" };
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
