//! Messages about a key or a value that does not fit.

use serde_json::Value;

/// The maximum length of a value in a message, in characters.
const SHOWN_CHARS_MAX: usize = 80;

/// Returns the message for a value that is not the expected one.
pub(crate) fn expected(expected: &str, value: &Value) -> String {
    format!("expected {expected}, found {}", found(value))
}

/// Returns the message for an unknown key, with the most similar known key.
pub(crate) fn unknown_key(key: &str, known: &[&str]) -> String {
    let near = known
        .iter()
        .map(|name| (strsim::damerau_levenshtein(key, name), name));
    match near.min_by_key(|(distance, _)| *distance) {
        Some((distance, name)) if distance <= name.len().div_ceil(3) => {
            format!("{key}: unknown key; did you mean {name:?}?")
        }
        _ => format!("{key}: unknown key; expected one of {}", known.join(", ")),
    }
}

/// Formats a value for a message: on one line, and short.
pub(crate) fn found(value: &Value) -> String {
    let text = match value {
        Value::Object(_) => return "a table".to_owned(),
        Value::Array(items) if items.is_empty() => return "an empty list".to_owned(),
        Value::String(text) => format!("{text:?}"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => value.to_string(),
    };
    if text.chars().count() > SHOWN_CHARS_MAX {
        let start: String = text.chars().take(SHOWN_CHARS_MAX).collect();
        return format!("{start}…");
    }
    text
}
