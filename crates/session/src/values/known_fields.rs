//! The strict reading of a stored object: every field must be one that this program reads.
//!
//! A field that the object's own written form has again is known. Another field either names a
//! default explicitly or is unknown. An unknown field is one whose value does not matter: the
//! object reads the same with another value in its place. This needs no list of fields, and it
//! holds for any shape that serde can read.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::object::object_bytes;
use crate::json::escaped;

/// The value in the place of a field's own. A field that accepts any text reads differently then,
/// and any other field rejects it.
const PROBE: &str = "\0";

/// The maximum number of bytes that one search parses again, which bounds its time to seconds.
/// Objects that this program writes need none. If it is exceeded, the field counts as unknown.
const PROBED_BYTES_MAX: usize = 256 << 20;

/// Returns the JSON Pointer of the first field of `bytes` that `T` does not read.
///
/// # Errors
/// The error of parsing `bytes` as a `T`.
pub(crate) fn unknown_field<T>(bytes: &[u8]) -> serde_json::Result<Option<String>>
where
    T: DeserializeOwned + PartialEq + Serialize,
{
    let read: T = serde_json::from_slice(bytes)?;
    let written = object_bytes(&read);
    if written == bytes {
        return Ok(None);
    }
    let stored: Value = serde_json::from_slice(bytes)?;
    let written: Value = serde_json::from_slice(&written)?;
    let mut search = Search {
        read,
        probed: stored.clone(),
        bytes_left: PROBED_BYTES_MAX,
    };
    let mut at = String::new();
    let found = search.finds(&mut at, &stored, Some(&written));
    Ok(found.then_some(at))
}

/// A search for unknown fields in an object that reads as `read`.
struct Search<T> {
    read: T,
    /// The stored object, in which one value at a time is replaced.
    probed: Value,
    bytes_left: usize,
}

impl<T: DeserializeOwned + PartialEq> Search<T> {
    /// Searches `stored`, the value at `at`. If it contains an unknown field, returns true and
    /// leaves the field's pointer in `at`.
    fn finds(&mut self, at: &mut String, stored: &Value, written: Option<&Value>) -> bool {
        let length = at.len();
        match stored {
            Value::Object(fields) => {
                for (key, value) in fields {
                    at.push('/');
                    at.push_str(&escaped(key));
                    let again = written.and_then(|it| it.get(key));
                    if (again.is_none() && !self.reads(at)) || self.finds(at, value, again) {
                        return true;
                    }
                    at.truncate(length);
                }
            }
            Value::Array(items) => {
                // The written form of a set has another order, so its items have no counterpart.
                let same = written.filter(|it| it.as_array().map(Vec::len) == Some(items.len()));
                for (index, value) in items.iter().enumerate() {
                    at.push_str(&format!("/{index}"));
                    if self.finds(at, value, same.and_then(|it| it.get(index))) {
                        return true;
                    }
                    at.truncate(length);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        false
    }

    /// True if the value at `pointer` matters to the reading.
    fn reads(&mut self, pointer: &str) -> bool {
        let Some(place) = self.probed.pointer_mut(pointer) else {
            return false;
        };
        let value = std::mem::replace(place, Value::from(PROBE));
        let text = self.probed.to_string();
        if let Some(place) = self.probed.pointer_mut(pointer) {
            *place = value;
        }
        let Some(left) = self.bytes_left.checked_sub(text.len()) else {
            return false;
        };
        self.bytes_left = left;
        match serde_json::from_str::<T>(&text) {
            Ok(other) => other != self.read,
            Err(_) => true,
        }
    }
}

#[cfg(test)]
#[path = "known_fields_tests.rs"]
mod tests;
