//! Defects of answers that only an entry point can find.

use serde::{Deserialize, Serialize};

use crate::values::id::SessionId;
use crate::values::object::ObjectHash;

/// A defect of an answer, independent of the state of its request.
///
/// Only the entry point can find it, because it knows the text of the answer, the schemas, and the
/// record of the question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The standing leave in the answer cannot be given.
    InvalidLeave {
        /// The reason.
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
            UnfitAnswer::InvalidLeave { problem } => {
                write!(f, "it cannot allow later calls: {problem}")
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
