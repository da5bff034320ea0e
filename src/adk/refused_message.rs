//! Why nothing of a client's message is taken.

use crate::session::RequestId;

/// Why nothing of a client's message is taken.
///
/// Where it is about a request that is known, that goes on record as a refused answer, and the
/// request stays open.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RefusedMessage {
    /// It cannot be read.
    #[error("the message cannot be read: {problem}")]
    Unreadable {
        /// What is wrong with it.
        problem: String,
    },
    /// It says nothing.
    #[error("the message has no parts")]
    NoParts,
    /// It claims to come from somebody else.
    #[error("the message has the role {role:?}; a client speaks as the user")]
    NotTheUser {
        /// Whom it claims to come from.
        role: String,
    },
    /// It calls a function, which only a model does.
    #[error("a client's message cannot call a function, as this one does: {name:?}")]
    FunctionCall {
        /// Which.
        name: String,
    },
    /// It has a part that is neither a text nor a FunctionResponse.
    #[error("a part of the message is neither a text nor a functionResponse: {kind:?}")]
    UnsupportedPart {
        /// The part's key.
        kind: String,
    },
    /// It answers and speaks at once: which of the two the model should hear first, nobody said.
    #[error("the message holds both function responses and text; send one after the other")]
    MixedWithText,
    /// It does not say what it answers.
    #[error("the response {name:?} has no id")]
    MissingId {
        /// The name that came.
        name: String,
    },
    /// Nothing in the session has this id.
    #[error("nothing in the session has the id {id:?}")]
    UnknownId {
        /// The id that came.
        id: String,
    },
    /// It names another function than the id does.
    #[error("the response to {id:?} names {found:?} and not {expected:?}")]
    WrongName {
        /// The id.
        id: String,
        /// What the id stands for.
        expected: String,
        /// The name that came.
        found: String,
    },
    /// It answers a call about which a person is being asked.
    #[error("the call {id:?} waits for the answer to {request}")]
    AwaitsConfirmation {
        /// The id that came.
        id: String,
        /// What is to be answered instead.
        request: RequestId,
    },
}
