//! The published schemas without their descriptions: a reworded description is no change of a
//! format.

use serde_json::{Map, Value};

use crate::pinned::assert_pinned;

#[test]
fn event_schema_is_as_it_was_but_for_words() {
    assert_pinned_without_words("events.schema.json", recount::session::event_schema());
}

#[test]
fn policy_schema_is_as_it_was_but_for_words() {
    assert_pinned_without_words("policy.schema.json", recount::tool::policy_file::schema());
}

fn assert_pinned_without_words(file: &str, schema: Value) {
    let text = serde_json::to_string_pretty(&without_words(schema)).unwrap() + "\n";
    assert_pinned(file, &text);
}

/// A schema without the keywords that hold descriptions. A property with such a name stays.
fn without_words(schema: Value) -> Value {
    match schema {
        Value::Object(keywords) => {
            let kept = keywords.into_iter().filter(|(key, value)| {
                !(["title", "description", "$comment"].contains(&key.as_str()) && value.is_string())
            });
            Value::Object(
                kept.map(|(key, value)| (key, without_words(value)))
                    .collect::<Map<_, _>>(),
            )
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_words).collect()),
        plain @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => plain,
    }
}
