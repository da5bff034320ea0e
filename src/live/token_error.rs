//! Why there is no token.

/// No token could be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct TokenError {
    reason: String,
}

impl TokenError {
    /// Says why; a secret must not stand in it.
    pub fn new(reason: impl Into<String>) -> TokenError {
        let reason = reason.into();
        TokenError { reason }
    }
}
