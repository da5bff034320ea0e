//! The canonical form of JSON text.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::plain::quote;

/// Appends the [canonical](Json::canonical) form of a text.
///
/// Depth was bounded when the text was taken; a part that does not read, which cannot be, stays as it is.
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
