//! Findings: outcomes, reported later, of calls that were cut off.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::json::Json;

/// The reported outcome of a call that had ended with an unknown one.
///
/// ```json
/// {"done":{"receipt":17}}
/// {"failed":"the bank refused it"}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// The call took effect, with this result: a JSON object.
    Done(Json),
    /// The call did not take effect, for this reason.
    Failed(String),
}

/// The kind of a finding, without its text.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FoundAs {
    /// The call took effect.
    Done,
    /// The call did not take effect.
    Failed,
}

impl Finding {
    /// A finding that the call took effect, with its result.
    ///
    /// ```
    /// use recount_session::{Finding, FoundAs};
    /// let found = Finding::done(&serde_json::json!({"receipt": 17}));
    /// assert_eq!(found.found_as(), FoundAs::Done);
    /// ```
    pub fn done(result: &Value) -> Finding {
        Finding::Done(Json::of(result))
    }

    /// A finding that the call did not take effect, with the reason.
    pub fn failed(reason: impl Into<String>) -> Finding {
        Finding::Failed(reason.into())
    }

    /// Returns the kind of the finding.
    pub fn found_as(&self) -> FoundAs {
        match self {
            Finding::Done(_) => FoundAs::Done,
            Finding::Failed(_) => FoundAs::Failed,
        }
    }

    /// True if the finding can be sent to the model as the response to a call.
    pub(crate) fn is_response(&self) -> bool {
        match self {
            Finding::Done(result) => result.is_object(),
            Finding::Failed(_) => true,
        }
    }
}

impl FoundAs {
    /// The finding as a word in a sentence about a call.
    pub fn as_str(self) -> &'static str {
        match self {
            FoundAs::Done => "done",
            FoundAs::Failed => "failed",
        }
    }
}
