//! The reasons for which a message is not divided.

use recount::live::wire::DecodeError;

/// The reason for which the gateway cannot read a message, and so refuses to forward it.
///
/// The text quotes keys and never values, because values may be secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FrameError {
    /// The message is not a JSON object in UTF-8.
    #[error("expected a JSON object in UTF-8, got {0}")]
    NotAnObject(String),
    /// Objects and lists nest deeper than [`DEPTH_MAX`](super::members::DEPTH_MAX).
    #[error("expected at most {max} levels of objects and lists, got more", max = super::members::DEPTH_MAX)]
    TooDeep,
    /// An object has a key twice, or in both spellings.
    #[error("expected the key `{0}` once, got it twice, so two readers may read two values")]
    Ambiguous(String),
    /// A key differs from a known one only in capitals or underscores.
    #[error("expected the key `{expected}`, got `{found}`, which some readers may take for it")]
    Misspelt {
        /// The known key.
        expected: &'static str,
        /// The key of the message.
        found: String,
    },
    /// A member has the wrong type.
    #[error("expected {expected} in `{key}`, got {found}")]
    WrongType {
        /// The key of the member.
        key: &'static str,
        /// The expected type.
        expected: &'static str,
        /// The type of the message.
        found: &'static str,
    },
    /// Two payloads that exclude each other are in one message.
    #[error("expected one of `{0}` and `{1}` in a message, got both")]
    TwoPayloads(&'static str, &'static str),
    /// The message lacks the payload that the caller asked for.
    #[error("expected `{0}` in the message, got none")]
    Missing(&'static str),
    /// A typed reader rejects the message.
    #[error(transparent)]
    Unreadable(#[from] DecodeError),
}
