//! Where in a file something stands: looked up once something is wrong, so that reading what is right needs no places.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

/// The line of what stands at `path`, or of the nearest thing around it; keys, and numbers of list items.
pub(super) fn line(text: &str, path: &[String]) -> Option<usize> {
    let offset = if super::is_json(text) {
        in_json(text, path)
    } else {
        in_toml(text, path)
    }?;
    Some(line_at(text, offset))
}

pub(super) fn line_at(text: &str, offset: usize) -> usize {
    let before = text.get(..offset).unwrap_or(text);
    before.bytes().filter(|it| *it == b'\n').count() + 1
}

fn in_json(text: &str, path: &[String]) -> Option<usize> {
    let mut here: &RawValue = serde_json::from_str(text).ok()?;
    for step in path {
        let inner = match serde_json::from_str::<BTreeMap<String, &RawValue>>(here.get()) {
            Ok(fields) => fields.get(step).copied(),
            Err(_) => item(here.get(), step),
        };
        let Some(inner) = inner else {
            break;
        };
        here = inner;
    }
    // A raw value is a part of the text that it was read from.
    (here.get().as_ptr() as usize).checked_sub(text.as_ptr() as usize)
}

fn item<'t>(list: &'t str, step: &str) -> Option<&'t RawValue> {
    let items: Vec<&RawValue> = serde_json::from_str(list).ok()?;
    items.get(step.parse::<usize>().ok()?).copied()
}

#[cfg(not(feature = "cli"))]
fn in_toml(_: &str, _: &[String]) -> Option<usize> {
    None
}

#[cfg(feature = "cli")]
fn in_toml(text: &str, path: &[String]) -> Option<usize> {
    use toml::de::{DeTable, DeValue};

    let document = DeTable::parse(text).ok()?;
    let (first, rest) = path.split_first()?;
    let (key, mut here) = document
        .get_ref()
        .iter()
        .find(|(key, _)| key.get_ref() == first)?;
    let mut offset = key.span().start;
    for step in rest {
        let inner = match here.get_ref() {
            DeValue::Table(table) => table
                .iter()
                .find(|(key, _)| key.get_ref() == step)
                .map(|(key, value)| (key.span().start, value)),
            DeValue::Array(items) => step
                .parse::<usize>()
                .ok()
                .and_then(|index| items.get(index))
                .map(|value| (value.span().start, value)),
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_) => None,
        };
        let Some((at, value)) = inner else {
            break;
        };
        (offset, here) = (at, value);
    }
    Some(offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(steps: &[&str]) -> Vec<String> {
        steps.iter().map(|it| (*it).to_owned()).collect()
    }

    #[test]
    fn a_line_of_json_is_that_of_the_value_or_of_what_is_around_it() {
        let text = "{\n \"tools\": {\n  \"pay\":\n   {\"timeout\": 1,\n    \"x\": [1,\n 2]}}}";
        for (steps, expected) in [
            (&[] as &[&str], 1),
            (&["tools", "pay", "timeout"], 4),
            (&["tools", "pay", "x", "1"], 6),
            (&["tools", "pay", "gone", "y"], 4),
        ] {
            assert_eq!(line(text, &path(steps)), Some(expected), "{steps:?}");
        }
    }

    #[cfg(feature = "cli")]
    #[test]
    fn a_line_of_toml_is_that_of_the_key_or_of_what_is_around_it() {
        let text = "timeout = 1\n\n[tools.pay]\nconfirm = 1\n[[phases]]\nname = \"a\"\n[[phases]]\nname = 2\n";
        for (steps, expected) in [
            (&["timeout"] as &[&str], 1),
            (&["tools", "pay", "confirm"], 4),
            (&["tools", "pay", "gone"], 3),
            (&["phases", "1", "name"], 8),
        ] {
            assert_eq!(line(text, &path(steps)), Some(expected), "{steps:?}");
        }
    }
}
