//! The text of a value as an approver wrote it.
//!
//! A parsed value prints `1.10` as `1.1` and `1e2` as `100.0`. The tool runs with the approver's
//! digits, so their text accompanies the value from the entry point to the record.

use serde_json::Value;

use crate::json::Json;

/// The text of a value as it was written. It does not take part in comparisons, so two answers with
/// equal values are equal.
#[derive(Clone, Debug, Default, Eq)]
pub(super) struct Written(Option<Box<(Value, Json)>>);

impl PartialEq for Written {
    fn eq(&self, _: &Written) -> bool {
        true
    }
}

impl Written {
    /// Stores the text that `value` was parsed from.
    pub(super) fn of(value: &Value, text: Json) -> Written {
        Written(Some(Box::new((value.clone(), text))))
    }

    /// Returns the text as it was written, or a new text if the value has changed since.
    pub(super) fn text(&self, value: &Value) -> Json {
        let written = self.0.as_deref().filter(|(read, _)| read == value);
        written.map_or_else(|| Json::of(value), |(_, text)| text.clone())
    }
}
