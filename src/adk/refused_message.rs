//! The reasons for which a client's message is refused.

use crate::session::RequestId;

/// The reason for which a client's message is refused as a whole.
///
/// If the message concerns a known request, the refusal is recorded as a refused answer. The
/// request stays open.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RefusedMessage {
    /// The message cannot be parsed.
    #[error("the message cannot be read: {problem}")]
    Unreadable {
        /// A description of the fault.
        problem: String,
    },
    /// The message has no content.
    #[error("the message has no parts")]
    NoParts,
    /// The message claims to come from another role than the user.
    #[error("the message has the role {role:?}; a client speaks as the user")]
    NotTheUser {
        /// The claimed role.
        role: String,
    },
    /// The message calls a function, which only a model may do.
    #[error("a client's message cannot call a function, as this one does: {name:?}")]
    FunctionCall {
        /// The function's name.
        name: String,
    },
    /// The message has a part that is neither text nor a FunctionResponse.
    #[error("a part of the message is neither a text nor a functionResponse: {kind:?}")]
    UnsupportedPart {
        /// The part's key.
        kind: String,
    },
    /// The message contains both text and answers, whose order for the model is undefined.
    #[error("the message holds both function responses and text; send one after the other")]
    MixedWithText,
    /// The response does not identify what it answers.
    #[error("the response {name:?} has no id")]
    MissingId {
        /// The name in the message.
        name: String,
    },
    /// The id is unknown in this session.
    #[error("nothing in the session has the id {id:?}")]
    UnknownId {
        /// The id in the message.
        id: String,
    },
    /// The name does not match the function of the id.
    #[error("the response to {id:?} names {found:?} and not {expected:?}")]
    WrongName {
        /// The id.
        id: String,
        /// The function of the id.
        expected: String,
        /// The name in the message.
        found: String,
    },
    /// The response is for a call that waits for a confirmation.
    #[error("the call {id:?} waits for the answer to {request}")]
    AwaitsConfirmation {
        /// The id in the message.
        id: String,
        /// The request to answer instead.
        request: RequestId,
    },
}
