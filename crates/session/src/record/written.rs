//! The text of a value as an approver wrote it.
//!
//! A parsed value writes `1.10` as `1.1` and `1e2` as `100.0`. The tool runs with the digits of
//! the approver, so their text goes beside the value from the door to the record.

use serde_json::Value;

use crate::json::Json;

/// The text of a value, as it was written. Two answers with equal values are equal, so this counts
/// nothing when they are compared.
#[derive(Clone, Debug, Default, Eq)]
pub(super) struct Written(Option<Box<(Value, Json)>>);

impl PartialEq for Written {
    fn eq(&self, _: &Written) -> bool {
        true
    }
}

impl Written {
    /// The text that `value` was read from.
    pub(super) fn of(value: &Value, text: Json) -> Written {
        Written(Some(Box::new((value.clone(), text))))
    }

    /// The text of the value: as it was written, or made anew if the value was changed since.
    pub(super) fn text(&self, value: &Value) -> Json {
        let written = self.0.as_deref().filter(|(read, _)| read == value);
        written.map_or_else(|| Json::of(value), |(_, text)| text.clone())
    }
}
