//! Policies in TOML: their JSON value, and the position of each value in the text.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use toml::de::{DeTable, DeValue};

use super::mistake::{PolicyMistake, whole};
use super::places::{Place, Places, numbered};

/// Reads a file of policies in TOML.
pub(super) fn document(text: &str) -> Result<Map<String, Value>, PolicyMistake> {
    let file: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map(|span| line_at(text, span.start));
        whole(line, format!("expected TOML: {}", error.message()))
    })?;
    // Policies are recorded as JSON, which has no such numbers.
    let entries = file.iter();
    let mut odd = entries.filter_map(|(key, value)| not_finite(vec![key.clone()], value));
    if let Some((path, number)) = odd.next() {
        return Err(PolicyMistake {
            line: Places::of(text).line(&path),
            field: path.join("."),
            what: format!("expected a number, found {number}"),
        });
    }
    let entries = file.iter();
    Ok(entries
        .map(|(key, value)| (key.clone(), from_toml(value)))
        .collect())
}

/// Returns the first number that is infinite or NaN, with its path.
fn not_finite(path: Vec<String>, value: &toml::Value) -> Option<(Vec<String>, f64)> {
    let within = |step: String| [path.as_slice(), &[step]].concat();
    match value {
        toml::Value::Float(number) if !number.is_finite() => Some((path, *number)),
        toml::Value::Array(items) => {
            let mut items = items.iter().enumerate();
            items.find_map(|(index, it)| not_finite(within(index.to_string()), it))
        }
        toml::Value::Table(table) => {
            let mut entries = table.iter();
            entries.find_map(|(key, it)| not_finite(within(key.clone()), it))
        }
        toml::Value::Float(_)
        | toml::Value::String(_)
        | toml::Value::Integer(_)
        | toml::Value::Boolean(_)
        | toml::Value::Datetime(_) => None,
    }
}

/// Converts a value to JSON.
pub(crate) fn from_toml(value: &toml::Value) -> Value {
    match value {
        toml::Value::String(text) => text.as_str().into(),
        toml::Value::Integer(number) => (*number).into(),
        toml::Value::Float(number) => (*number).into(),
        toml::Value::Boolean(flag) => (*flag).into(),
        // JSON has no times, so a time becomes a string.
        toml::Value::Datetime(time) => time.to_string().into(),
        toml::Value::Array(items) => items.iter().map(from_toml).collect(),
        toml::Value::Table(table) => table
            .iter()
            .map(|(key, value)| (key.clone(), from_toml(value)))
            .collect(),
    }
}

/// Returns the line of this byte offset.
fn line_at(text: &str, offset: usize) -> usize {
    let before = text.get(..offset).unwrap_or(text);
    before.bytes().filter(|it| *it == b'\n').count() + 1
}

/// Returns the positions of the values in a TOML text.
pub(super) fn places(text: &str) -> Option<Place> {
    let document = DeTable::parse(text).ok()?;
    Some(Place {
        offset: None,
        inner: in_table(document.get_ref()),
    })
}

fn in_table(table: &DeTable<'_>) -> BTreeMap<String, Place> {
    let place = |key: &toml::Spanned<_>, value| Place {
        offset: Some(key.span().start),
        inner: in_value(value),
    };
    let entries = table.iter();
    entries
        .map(|(key, value)| (key.get_ref().to_string(), place(key, value.get_ref())))
        .collect()
}

fn in_value(value: &DeValue<'_>) -> BTreeMap<String, Place> {
    match value {
        DeValue::Table(table) => in_table(table),
        DeValue::Array(items) => numbered(items.iter().map(|it| Place {
            offset: Some(it.span().start),
            inner: in_value(it.get_ref()),
        })),
        DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_) => BTreeMap::new(),
    }
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may fail"
)]
#[path = "toml_text_tests.rs"]
mod tests;
