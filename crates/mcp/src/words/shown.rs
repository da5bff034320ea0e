//! Messages of a server without the secrets that were sent to it.

use recount_session::Json;
use recount_session::secret::Unsaid;
use recount_tool::restored;
use rmcp::model::JsonObject;
use serde_json::Value;

/// Removes secrets like [`without`], from a text whose numbers keep their digits.
pub(crate) fn without_in_text(unsaid: &Unsaid, text: Json) -> Json {
    let value = text.to_value();
    let clean = without(unsaid, value.clone());
    if clean == value {
        text
    } else {
        restored(&clean, &value, &text)
    }
}

/// Removes secrets from the texts and the keys of a JSON value.
pub(crate) fn without(unsaid: &Unsaid, value: Value) -> Value {
    match value {
        Value::String(text) => unsaid.out_of(text).into(),
        Value::Array(items) => items.into_iter().map(|it| without(unsaid, it)).collect(),
        Value::Object(fields) => {
            let clean = |(key, value)| (unsaid.out_of(key), without(unsaid, value));
            Value::Object(fields.into_iter().map(clean).collect::<JsonObject>())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}
