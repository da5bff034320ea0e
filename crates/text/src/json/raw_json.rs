//! JSON kept unchanged, with no check but that of the grammar.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use super::decode_error::DecodeError;
use super::value::Json;

/// A JSON value as its original text. No number is rounded, no escape changed, no key sorted.
///
/// There are two types for two guarantees. A [`Json`] has passed the check of [`Json::parse`] and
/// has no white space between tokens, so a record can contain it. A `RawJson` is any JSON, byte for
/// byte, even if the check rejects it. So a message can be written again without changes, and even
/// an invalid call gets its answer. Checking a `RawJson` gives a `Json`.
#[derive(Clone)]
pub struct RawJson(Box<RawValue>);

impl RawJson {
    /// Parses `text` and keeps it.
    ///
    /// ```
    /// use recount_text::json::RawJson;
    /// let kept = RawJson::parse(r#"{"n": 9007199254740993}"#)?;
    /// assert_eq!(kept.as_str(), r#"{"n": 9007199254740993}"#);
    /// # Ok::<(), recount_text::json::DecodeError>(())
    /// ```
    ///
    /// # Errors
    /// An error if `text` is not JSON.
    pub fn parse(text: &str) -> Result<Self, DecodeError> {
        serde_json::from_str(text)
            .map(Self)
            .map_err(|error| DecodeError::new("JSON", error.to_string()))
    }

    /// Copies a raw value of serde_json.
    #[doc(hidden)]
    pub fn of_raw(raw: &RawValue) -> Self {
        Self(raw.to_owned())
    }

    /// The text as a raw value of serde_json.
    #[doc(hidden)]
    pub fn raw(&self) -> &RawValue {
        &self.0
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Deserializes the text as a `T`.
    ///
    /// # Errors
    /// An error if the text is not a `T`.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, DecodeError> {
        serde_json::from_str(self.as_str())
            .map_err(|error| DecodeError::new("another value", error.to_string()))
    }

    /// Returns the kind of the value, in words.
    #[doc(hidden)]
    pub fn kind(&self) -> &'static str {
        kind(self.as_str())
    }
}

/// Returns the kind of the value in a text, in words.
pub fn kind(text: &str) -> &'static str {
    match text.as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') | None => "null",
        Some(_) => "a number",
    }
}

impl From<&Value> for RawJson {
    fn from(value: &Value) -> Self {
        // Serializing a `Value` cannot fail; `null` satisfies the type.
        Self(serde_json::value::to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned()))
    }
}

impl From<Value> for RawJson {
    fn from(value: Value) -> Self {
        Self::from(&value)
    }
}

impl From<&Json> for RawJson {
    fn from(json: &Json) -> Self {
        Self(json.raw().to_owned())
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for RawJson {}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
