//! The reasons why a tool call did not succeed.

use std::str::Chars;
use std::time::Duration;

use recount_session::response::error_response;
use serde_json::Value;

/// The reason why a tool call did not succeed. The model receives the kind and the message.
///
/// ```
/// use recount_tool::ToolError;
///
/// let error = ToolError::InvalidArgs("missing account_id".into());
/// assert_eq!(error.kind(), "invalid_args");
/// assert_eq!(error.to_string(), "invalid arguments: missing account_id");
/// ```
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// The tool ran and failed, with its own message.
    #[error("{0}")]
    ExecutionFailed(String),
    /// No tool has this name.
    #[error("no tool is named {0:?}")]
    NotFound(String),
    /// The arguments are invalid for the tool.
    #[error("invalid arguments: {0}")]
    InvalidArgs(String),
    /// The run exceeded its time limit.
    #[error("timed out after {0:?}")]
    Timeout(Duration),
    /// The call was cancelled or denied, with the reason.
    #[error("{0}")]
    Cancelled(String),
    /// The tool is not available now, by its phases or its condition.
    #[error("{0}")]
    NotAvailable(String),
    /// The tool has reached its limit of calls.
    #[error("{0}")]
    LimitReached(String),
    /// The call is in doubt: it was cut off between its start and its result.
    #[error("{0}")]
    UnknownOutcome(String),
    /// The model of an agent is unreachable.
    #[error("{0}")]
    LlmUnavailable(String),
    /// Any other error.
    #[error("{0}")]
    Other(String),
}

impl ToolError {
    /// Returns the kind as one word in snake case, for programs.
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
            Self::LlmUnavailable(_) => "llm_unavailable",
            Self::Other(_) => "other",
        }
    }

    /// Reads the error from a response, whatever it is wrapped in.
    ///
    /// A response holds only kind and message, so a name and a time limit are parsed from the
    /// message. If this fails, the error has only the message.
    #[doc(hidden)]
    pub fn of_response(response: &Value) -> Self {
        let body = response.get("output").unwrap_or(response);
        let word = |key: &str| body.get(key).and_then(Value::as_str);
        let message = word("error").map_or_else(|| response.to_string(), str::to_owned);
        match word("kind") {
            Some("execution_failed") => Self::ExecutionFailed(message),
            Some("invalid_args") => {
                let detail = message.strip_prefix("invalid arguments: ");
                Self::InvalidArgs(detail.unwrap_or(&message).to_owned())
            }
            Some("not_found") => match name_in(&message) {
                Some(name) => Self::NotFound(name),
                None => Self::Other(message),
            },
            Some("timeout") => match limit_in(&message) {
                Some(limit) => Self::Timeout(limit),
                None => Self::Other(message),
            },
            Some("cancelled") => Self::Cancelled(message),
            Some("not_available") => Self::NotAvailable(message),
            Some("limit_reached") => Self::LimitReached(message),
            Some("unknown_outcome") => Self::UnknownOutcome(message),
            Some("llm_unavailable") => Self::LlmUnavailable(message),
            Some(_) | None => Self::Other(message),
        }
    }

    /// Returns the response for the model.
    ///
    /// ```
    /// use recount_tool::ToolError;
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

/// Returns the quoted name of an unknown tool from an error message of this crate or of the rules.
fn name_in(message: &str) -> Option<String> {
    let quoted = message
        .strip_prefix("no tool is named ")
        .or_else(|| message.strip_prefix("there is no tool named "))?;
    let mut quoted = quoted.strip_prefix('"')?.strip_suffix('"')?.chars();
    let mut name = String::with_capacity(quoted.as_str().len());
    while let Some(c) = quoted.next() {
        name.push(if c == '\\' { escaped(&mut quoted)? } else { c });
    }
    Some(name)
}

/// Returns the character that `{:?}` wrote after a backslash.
fn escaped(chars: &mut Chars<'_>) -> Option<char> {
    match chars.next()? {
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        '0' => Some('\0'),
        'u' => {
            let (digits, rest) = chars.as_str().strip_prefix('{')?.split_once('}')?;
            *chars = rest.chars();
            char::from_u32(u32::from_str_radix(digits, 16).ok()?)
        }
        itself => Some(itself),
    }
}

/// Returns the time limit in an error message of this crate or of the rules.
fn limit_in(message: &str) -> Option<Duration> {
    if let Some(rest) = message.strip_prefix("the tool did not finish within ") {
        let (ms, _) = rest.split_once(" ms")?;
        return ms.parse().ok().map(Duration::from_millis);
    }
    let rest = message.strip_prefix("timed out after ")?;
    let units = [("ns", 1), ("µs", 1_000), ("ms", 1_000_000), ("s", SECOND)];
    let (number, unit) = units
        .iter()
        .find_map(|(name, unit)| Some((rest.strip_suffix(name)?, *unit)))?;
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let places = u32::try_from(part.len()).ok()?;
    let whole = whole.parse::<u128>().ok()?.checked_mul(unit)?;
    let part = part.parse::<u128>().ok()?.checked_mul(unit)? / 10_u128.checked_pow(places)?;
    let nanos = whole.checked_add(part)?;
    let seconds = u64::try_from(nanos / SECOND).ok()?;
    Some(Duration::new(seconds, u32::try_from(nanos % SECOND).ok()?))
}

/// The number of nanoseconds in a second.
const SECOND: u128 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn kind_and_message_of_each_error_reach_the_model() {
        let check = |error: ToolError, kind: &str, message: &str| {
            assert_eq!(
                error.to_response(),
                json!({ "error": message, "kind": kind })
            );
        };
        check(
            ToolError::ExecutionFailed("kaput".into()),
            "execution_failed",
            "kaput",
        );
        check(
            ToolError::NotFound("nope".into()),
            "not_found",
            "no tool is named \"nope\"",
        );
        check(
            ToolError::InvalidArgs("no city".into()),
            "invalid_args",
            "invalid arguments: no city",
        );
        check(
            ToolError::Timeout(Duration::from_millis(1500)),
            "timeout",
            "timed out after 1.5s",
        );
        check(
            ToolError::Cancelled("not today".into()),
            "cancelled",
            "not today",
        );
        check(
            ToolError::NotAvailable("not in this phase".into()),
            "not_available",
            "not in this phase",
        );
        check(
            ToolError::LimitReached("3 a minute".into()),
            "limit_reached",
            "3 a minute",
        );
        check(
            ToolError::UnknownOutcome("cut off".into()),
            "unknown_outcome",
            "cut off",
        );
        check(ToolError::Other("odd".into()), "other", "odd");
    }

    #[test]
    fn error_round_trips_through_its_response() {
        let durations = [
            Duration::ZERO,
            Duration::from_nanos(7),
            Duration::from_nanos(1_001),
            Duration::from_micros(1_500),
            Duration::from_millis(1_500),
            Duration::from_secs(30),
            Duration::new(u64::MAX, 999_999_999),
        ];
        let names = ["nope", "", "a \"b\" \\c\n\t\r\0", "\u{7f}\u{202e}ü'"];
        let text = || "the words".to_owned();
        let errors = [
            ToolError::ExecutionFailed(text()),
            ToolError::InvalidArgs(text()),
            ToolError::Cancelled(text()),
            ToolError::NotAvailable(text()),
            ToolError::LimitReached(text()),
            ToolError::UnknownOutcome(text()),
            ToolError::Other(text()),
        ]
        .into_iter()
        .chain(durations.map(ToolError::Timeout))
        .chain(names.map(|name| ToolError::NotFound(name.to_owned())));
        for error in errors {
            assert_eq!(ToolError::of_response(&error.to_response()), error);
            let envelope = json!({ "output": error.to_response(), "scheduling": "SILENT" });
            assert_eq!(ToolError::of_response(&envelope), error);
        }
    }

    #[test]
    fn name_and_limit_are_parsed_from_rule_messages() {
        let read = |kind, message: &str| ToolError::of_response(&error_response(kind, message));
        assert_eq!(
            read("not_found", "there is no tool named \"pay\""),
            ToolError::NotFound("pay".into())
        );
        assert_eq!(
            read(
                "timeout",
                "the tool did not finish within 250 ms; what it did is unknown"
            ),
            ToolError::Timeout(Duration::from_millis(250))
        );
        for (kind, message) in [
            ("not_found", "the function call has no name"),
            ("not_found", "no tool is named \"\\u{110000}\""),
            ("not_found", "no tool is named \""),
            (
                "timeout",
                "the tool did not finish in time; what it did is unknown",
            ),
            ("timeout", "timed out after a while"),
            ("timeout", "timed out after 99999999999999999999999999999s"),
            ("refused", "because"),
        ] {
            assert_eq!(read(kind, message), ToolError::Other(message.into()));
        }
    }
}
