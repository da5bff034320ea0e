//! What somebody finds out about a call that was cut off, so that nobody here knew what it did.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::json::Json;

/// What became of a call whose outcome nobody knew, as somebody found out.
///
/// ```json
/// {"done":{"receipt":17}}
/// {"failed":"the bank refused it"}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// It took effect, and this is its result: a JSON object.
    Done(Json),
    /// It did not take effect, and why.
    Failed(String),
}

/// Which of the two was found, without the words.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FoundAs {
    /// It took effect.
    Done,
    /// It did not.
    Failed,
}

impl Finding {
    /// It took effect, and this is its result.
    ///
    /// ```
    /// use recount_session::{Finding, FoundAs};
    /// let found = Finding::done(&serde_json::json!({"receipt": 17}));
    /// assert_eq!(found.found_as(), FoundAs::Done);
    /// ```
    pub fn done(result: &Value) -> Finding {
        Finding::Done(Json::of(result))
    }

    /// It did not take effect, and why.
    pub fn failed(reason: impl Into<String>) -> Finding {
        Finding::Failed(reason.into())
    }

    /// Which of the two it is.
    pub fn found_as(&self) -> FoundAs {
        match self {
            Finding::Done(_) => FoundAs::Done,
            Finding::Failed(_) => FoundAs::Failed,
        }
    }

    /// Whether the model can be told it as the response to a call.
    pub(crate) fn is_response(&self) -> bool {
        match self {
            Finding::Done(result) => result.is_object(),
            Finding::Failed(_) => true,
        }
    }
}

impl FoundAs {
    /// What was found, as a word in a sentence about a call.
    pub fn as_str(self) -> &'static str {
        match self {
            FoundAs::Done => "done",
            FoundAs::Failed => "failed",
        }
    }
}
