//! The reason why no token is available.

/// The error of a token source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct TokenError {
    reason: String,
}

impl TokenError {
    /// Creates the error. `reason` must not contain a secret.
    pub fn new(reason: impl Into<String>) -> TokenError {
        let reason = reason.into();
        TokenError { reason }
    }
}
