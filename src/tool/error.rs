//! Why a tool call did not succeed.

use std::time::Duration;

use serde_json::Value;

use crate::session::response::error_response;

/// Why a tool call did not succeed; the model is told the kind and the message.
///
/// ```
/// use recount::tool::ToolError;
///
/// let error = ToolError::InvalidArgs("missing account_id".into());
/// assert_eq!(error.kind(), "invalid_args");
/// assert_eq!(error.to_string(), "invalid arguments: missing account_id");
/// ```
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// The tool ran and failed; the text is its own.
    #[error("{0}")]
    ExecutionFailed(String),
    /// No tool has this name.
    #[error("no tool is named {0:?}")]
    NotFound(String),
    /// The arguments are not what the tool takes.
    #[error("invalid arguments: {0}")]
    InvalidArgs(String),
    /// The run took longer than it may.
    #[error("timed out after {0:?}")]
    Timeout(Duration),
    /// The call was cancelled or a person denied it, with the reason.
    #[error("{0}")]
    Cancelled(String),
    /// The tool may not be called now: its phase or its condition says no.
    #[error("{0}")]
    NotAvailable(String),
    /// The tool was called as often as it may be.
    #[error("{0}")]
    LimitReached(String),
    /// The call was cut off between its start and its result, and whether it took effect is unknown.
    #[error("{0}")]
    UnknownOutcome(String),
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

impl ToolError {
    /// The kind as one word in snake case, for programs.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::ExecutionFailed(_) => "execution_failed",
            Self::NotFound(_) => "not_found",
            Self::InvalidArgs(_) => "invalid_args",
            Self::Timeout(_) => "timeout",
            Self::Cancelled(_) => "cancelled",
            Self::NotAvailable(_) => "not_available",
            Self::LimitReached(_) => "limit_reached",
            Self::UnknownOutcome(_) => "unknown_outcome",
            Self::Other(_) => "other",
        }
    }

    /// The error that a response tells of, whatever it is wrapped in.
    pub(crate) fn of_response(response: &Value) -> Self {
        let told = response.get("output").unwrap_or(response);
        let word = |key: &str| told.get(key).and_then(Value::as_str);
        let message = word("error").map_or_else(|| response.to_string(), str::to_owned);
        match word("kind") {
            Some("execution_failed") => Self::ExecutionFailed(message),
            Some("invalid_args") => {
                let told = message.strip_prefix("invalid arguments: ");
                Self::InvalidArgs(told.unwrap_or(&message).to_owned())
            }
            Some("cancelled") => Self::Cancelled(message),
            Some(_) | None => Self::Other(message),
        }
    }

    /// What the model is answered.
    ///
    /// ```
    /// use recount::tool::ToolError;
    /// use serde_json::json;
    ///
    /// let answer = ToolError::ExecutionFailed("the bank is closed".into()).to_response();
    /// assert_eq!(answer, json!({"error": "the bank is closed", "kind": "execution_failed"}));
    /// ```
    #[must_use]
    pub fn to_response(&self) -> Value {
        error_response(self.kind(), &self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn kind_and_message_of_each_error_reach_the_model() {
        let told = |error: ToolError, kind: &str, message: &str| {
            assert_eq!(
                error.to_response(),
                json!({ "error": message, "kind": kind })
            );
        };
        told(
            ToolError::ExecutionFailed("kaput".into()),
            "execution_failed",
            "kaput",
        );
        told(
            ToolError::NotFound("nope".into()),
            "not_found",
            "no tool is named \"nope\"",
        );
        told(
            ToolError::InvalidArgs("no city".into()),
            "invalid_args",
            "invalid arguments: no city",
        );
        told(
            ToolError::Timeout(Duration::from_millis(1500)),
            "timeout",
            "timed out after 1.5s",
        );
        told(
            ToolError::Cancelled("not today".into()),
            "cancelled",
            "not today",
        );
        told(
            ToolError::NotAvailable("not in this phase".into()),
            "not_available",
            "not in this phase",
        );
        told(
            ToolError::LimitReached("3 a minute".into()),
            "limit_reached",
            "3 a minute",
        );
        told(
            ToolError::UnknownOutcome("cut off".into()),
            "unknown_outcome",
            "cut off",
        );
        told(ToolError::Other("odd".into()), "other", "odd");
    }
}
