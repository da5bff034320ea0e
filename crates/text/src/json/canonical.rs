//! The canonical forms of JSON text, which keeps its numbers, and of JSON values.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use super::plain::quote;

/// Appends the [canonical](crate::json::Json::canonical) form of a text.
///
/// The depth was limited when the text was checked. A part that cannot be parsed stays unchanged; a
/// checked text has none.
pub fn write_canonical(text: &str, out: &mut String) {
    match text.as_bytes().first() {
        Some(b'{') => match serde_json::from_str::<BTreeMap<String, &RawValue>>(text) {
            Ok(members) => {
                out.push('{');
                for (index, (key, value)) in members.into_iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    quote(&key, out);
                    out.push(':');
                    write_canonical(value.get(), out);
                }
                out.push('}');
            }
            Err(_) => out.push_str(text),
        },
        Some(b'[') => match serde_json::from_str::<Vec<&RawValue>>(text) {
            Ok(items) => {
                out.push('[');
                for (index, item) in items.into_iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_canonical(item.get(), out);
                }
                out.push(']');
            }
            Err(_) => out.push_str(text),
        },
        Some(b'"') => match serde_json::from_str::<String>(text) {
            Ok(string) => quote(&string, out),
            Err(_) => out.push_str(text),
        },
        Some(_) | None => out.push_str(text),
    }
}

/// Serializes a value for hashing and storage: keys sorted at every depth, no white space.
///
/// The keys are sorted here, because another crate of the build may make `serde_json` keep the
/// insertion order.
#[must_use]
pub fn canonical_json(value: &Value) -> Vec<u8> {
    let mut out = String::new();
    write_value(value, &mut out);
    out.into_bytes()
}

fn write_value(value: &Value, out: &mut String) {
    match value {
        // `Display` of a value is compact JSON with escaped strings.
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.push_str(&value.to_string())
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            out.push('{');
            for (index, (key, item)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                quote(key, out);
                out.push(':');
                write_value(item, out);
            }
            out.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_sorted_at_every_depth_and_text_is_escaped() {
        let value = json!({"b": [{"z": 1, "a": "\"\n"}], "a\"": null, "a": 1.5});
        assert_eq!(
            String::from_utf8_lossy(&canonical_json(&value)),
            r#"{"a":1.5,"a\"":null,"b":[{"a":"\"\n","z":1}]}"#
        );
    }

    #[test]
    fn canonical_bytes_read_back_as_the_same_value() -> Result<(), serde_json::Error> {
        let value = json!({"β": [true, -0.5, 18_446_744_073_709_551_615_u64], "": {"x": []}});
        assert_eq!(
            serde_json::from_slice::<Value>(&canonical_json(&value))?,
            value
        );
        Ok(())
    }
}
