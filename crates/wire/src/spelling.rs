//! Conversion of field names to camelCase, and the distinction between field names and users' keys.
//!
//! The vendor's Python library writes `voice_config` where its JavaScript library writes
//! `voiceConfig`, and mixes both within a message. Keys of arguments, labels and schema properties
//! only look like field names.

use std::borrow::Cow;

use recount_text::json::{DecodeError, RawJson};
use serde_json::value::RawValue;

use super::fields::object_entries;
use super::levels::Levels;

/// The meaning of the keys of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A message of the protocol: keys are field names.
    Message,
    /// A function declaration. Its `response` is a schema, unlike the `response` of a call.
    Declaration,
    /// A schema in the protocol's own form: keys are field names.
    Schema,
    /// A map from users' names to schemas.
    SchemaMap,
    /// A user's value without field names.
    Free,
}

impl Shape {
    pub(super) fn of_field(self, name: &str) -> Shape {
        match self {
            Shape::Message => match name {
                "args"
                | "response"
                | "parametersJsonSchema"
                | "responseJsonSchema"
                | "labels"
                | "partMetadata"
                | "headers"
                | "customConfigs"
                | "customMetadata" => Shape::Free,
                "responseSchema" | "additionalProperties" => Shape::Schema,
                "functionDeclarations" => Shape::Declaration,
                _ => Shape::Message,
            },
            Shape::Declaration => match name {
                "parametersJsonSchema" | "responseJsonSchema" => Shape::Free,
                "parameters" | "response" => Shape::Schema,
                _ => Shape::Message,
            },
            Shape::Schema => match name {
                "properties" | "defs" | "$defs" => Shape::SchemaMap,
                "default" | "example" | "enum" => Shape::Free,
                _ => Shape::Schema,
            },
            Shape::SchemaMap => Shape::Schema,
            Shape::Free => Shape::Free,
        }
    }

    const fn keys_are_field_names(self) -> bool {
        match self {
            Shape::Message | Shape::Declaration | Shape::Schema => true,
            Shape::SchemaMap | Shape::Free => false,
        }
    }
}

/// Returns the camelCase spelling of `key` if it is in snake_case.
pub(super) fn camel(key: &str) -> Cow<'_, str> {
    let well_formed = key.contains('_')
        && key.starts_with(|c: char| c.is_ascii_alphabetic())
        && key.split('_').all(|word| !word.is_empty());
    if !well_formed {
        return Cow::Borrowed(key);
    }
    let mut spelt = String::with_capacity(key.len());
    let mut raise = false;
    for c in key.chars() {
        match (c, raise) {
            ('_', _) => raise = true,
            (c, true) => {
                spelt.push(c.to_ascii_uppercase());
                raise = false;
            }
            (c, false) => spelt.push(c),
        }
    }
    Cow::Owned(spelt)
}

/// True if `key` is the field `name`, in either spelling.
pub(super) fn is_spelling_of(key: &str, name: &str) -> bool {
    key == name || camel(key) == name
}

/// Converts the field names in `value` to camelCase and keeps all other tokens.
pub(super) fn in_camel_case(
    value: &RawValue,
    shape: Shape,
    levels: Levels,
) -> Result<RawJson, DecodeError> {
    let mut out = String::with_capacity(value.get().len());
    rewrite(value, shape, levels, &mut out)?;
    RawJson::parse(&out)
}

fn rewrite(
    value: &RawValue,
    shape: Shape,
    levels: Levels,
    out: &mut String,
) -> Result<(), DecodeError> {
    let text = value.get();
    let is_container = text.starts_with(['{', '[']);
    if shape == Shape::Free || !is_container {
        out.push_str(text);
        return Ok(());
    }
    let levels = levels.inside()?;
    if text.starts_with('[') {
        let items: Vec<&RawValue> = serde_json::from_str(text)
            .map_err(|error| DecodeError::new("a list", error.to_string()))?;
        out.push('[');
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            rewrite(item, shape, levels, out)
                .map_err(|error| error.under(&format!("[{index}]")))?;
        }
        out.push(']');
        return Ok(());
    }
    let entries = object_entries(value)?;
    out.push('{');
    for (index, (key, item)) in entries.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        let camel_key = camel(key);
        // If both spellings are present, neither may replace the other.
        let renames = shape.keys_are_field_names()
            && (camel_key == *key || entries.iter().all(|(sibling, _)| *sibling != camel_key));
        let name: &str = if renames { &camel_key } else { key };
        out.push_str(&serde_json::Value::from(name).to_string());
        out.push(':');
        rewrite(item, shape.of_field(&camel_key), levels, out)
            .map_err(|error| error.under(name))?;
    }
    out.push('}');
    Ok(())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    fn rewritten(text: &str, shape: Shape) -> String {
        let value = RawJson::parse(text).unwrap();
        in_camel_case(value.raw(), shape, Levels::default())
            .unwrap()
            .as_str()
            .to_owned()
    }

    #[test]
    fn field_names_become_camel_case_and_tokens_stay() {
        assert_eq!(
            rewritten(
                r#"{"speech_config":{"voice_config":[{"top_k":40.0}]},"big":9007199254740993}"#,
                Shape::Message
            ),
            r#"{"speechConfig":{"voiceConfig":[{"topK":40.0}]},"big":9007199254740993}"#
        );
    }

    #[test]
    fn user_values_keep_their_keys() {
        let text = r#"{"labels":{"my_team":"a_b"},"args":{"snake_key":{"x_y":1}}}"#;
        assert_eq!(rewritten(text, Shape::Message), text);
        assert_eq!(
            rewritten(
                r#"{"any_of":[{"max_items":3}],"properties":{"first_name":{"max_length":1,"default":{"a_b":1}}}}"#,
                Shape::Schema
            ),
            r#"{"anyOf":[{"maxItems":3}],"properties":{"first_name":{"maxLength":1,"default":{"a_b":1}}}}"#
        );
    }

    #[test]
    fn only_names_in_snake_case_are_respelt() {
        for (key, spelt) in [
            ("time_left", "timeLeft"),
            ("timeLeft", "timeLeft"),
            ("_private", "_private"),
            ("odd__name", "odd__name"),
            ("text_", "text_"),
        ] {
            assert_eq!(camel(key), spelt);
        }
    }

    #[test]
    fn two_spellings_side_by_side_are_both_kept() {
        let text = r#"{"a_b":1,"aB":2}"#;
        assert_eq!(rewritten(text, Shape::Message), text);
    }

    #[test]
    fn depth_is_limited_only_where_keys_are_parsed() {
        let deep = |n: usize| format!("{}1{}", "[".repeat(n), "]".repeat(n));
        let value = RawJson::parse(&deep(100_000)).unwrap();
        assert!(in_camel_case(value.raw(), Shape::Message, Levels::default()).is_err());
        let free = in_camel_case(value.raw(), Shape::Free, Levels::default());
        assert_eq!(free.unwrap(), value);
    }
}
