//! The time at which the model uses a result that arrives while it talks.

use serde::{Deserialize, Serialize};

/// The time at which the model uses the result of a call that it did not wait for.
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
    /// The model continues and does not mention the result.
    Silent,
    /// The model finishes what it is saying first.
    #[default]
    WhenIdle,
    /// The model stops talking and uses the result at once.
    Interrupt,
}

impl FunctionResponseScheduling {
    /// The value as the wire and the journal spell it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Silent => "SILENT",
            Self::WhenIdle => "WHEN_IDLE",
            Self::Interrupt => "INTERRUPT",
        }
    }
}
