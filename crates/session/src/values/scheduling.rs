//! When the model takes up a result that comes while it talks.

use serde::{Deserialize, Serialize};

/// When the model takes up the result of a call that it did not wait for.
///
/// ```
/// use recount_session::FunctionResponseScheduling;
/// assert_eq!(FunctionResponseScheduling::WhenIdle.as_str(), "WHEN_IDLE");
/// assert_eq!(serde_json::to_string(&FunctionResponseScheduling::WhenIdle)?, "\"WHEN_IDLE\"");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize,
)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum FunctionResponseScheduling {
    /// It goes on and knows it, without a word.
    Silent,
    /// It finishes what it is saying first.
    #[default]
    WhenIdle,
    /// It stops talking and takes it up at once.
    Interrupt,
}

impl FunctionResponseScheduling {
    /// As the wire and the journal spell it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Silent => "SILENT",
            Self::WhenIdle => "WHEN_IDLE",
            Self::Interrupt => "INTERRUPT",
        }
    }
}
