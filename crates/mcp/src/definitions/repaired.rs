//! The repair of a foreign server's invalid schema to one that accepts at least as much.

use std::collections::BTreeSet;

use recount_session::schema::Position;
use recount_text::json::{escaped, steps};
use recount_tool::{check_pattern, invalid_places};
use serde_json::{Map, Value};

/// The maximum number of checks of a schema, each after the removal of a part.
const ROUNDS_MAX: usize = 32;

/// Returns the schema with known synonyms replaced and unreadable parts removed. Each change is
/// noted as a JSON Pointer and a text.
///
/// A removed part is not checked, so the schema accepts at least as much as before. If the removal
/// would make the schema stricter, as within a `not`, the keyword around it is removed.
pub(super) fn repaired(schema: &Value) -> (Value, Vec<(String, String)>) {
    let (mut schema, mut notes) = (schema.clone(), Vec::new());
    let is_newest = schema
        .get("$schema")
        .and_then(Value::as_str)
        .is_none_or(|it| it.contains("2020-12"));
    reword(&mut schema, is_newest, "", &mut notes);
    for (at, pattern) in patterns(&schema) {
        if let Err(problem) = check_pattern(&pattern) {
            let text = format!("not checked: {problem}");
            note(&mut schema, &at, &text, &mut notes);
        }
    }
    for _ in 0..ROUNDS_MAX {
        let Some(at) = invalid_places(&schema).pop_last() else {
            break;
        };
        note(
            &mut schema,
            &at,
            "not checked: no schema has that",
            &mut notes,
        );
    }
    (schema, notes)
}

fn note(schema: &mut Value, at: &str, text: &str, notes: &mut Vec<(String, String)>) {
    let gone = take_out(schema, at);
    notes.push((gone.unwrap_or_else(|| at.to_owned()), text.to_owned()));
}

/// Replaces synonyms by keywords of the dialect.
fn reword(schema: &mut Value, is_newest: bool, at: &str, notes: &mut Vec<(String, String)>) {
    let Value::Object(keywords) = schema else {
        return;
    };
    let mut report = |keyword: &str, what: &str| {
        notes.push((format!("{at}/{keyword}"), what.to_owned()));
    };
    let nulls = keywords.iter().filter(|(_, value)| value.is_null());
    let nulls = nulls.map(|(keyword, _)| keyword.clone());
    for keyword in nulls
        .filter(|it| !["const", "default", "example"].contains(&it.as_str()))
        .collect::<Vec<_>>()
    {
        keywords.remove(&keyword);
        report(&keyword, "read as if it were not there: it is null");
    }
    match keywords.get_mut("type") {
        Some(Value::String(kind)) => reword_type(kind, &mut report),
        Some(Value::Array(kinds)) => {
            for kind in kinds {
                if let Value::String(kind) = kind {
                    reword_type(kind, &mut report);
                }
            }
        }
        _ => {}
    }
    if is_newest && keywords.get("items").is_some_and(Value::is_array) {
        let first = keywords.remove("items").unwrap_or_default();
        let rest = keywords.remove("additionalItems");
        keywords.insert("prefixItems".to_owned(), first);
        keywords.extend(rest.map(|it| ("items".to_owned(), it)));
        report("items", "a list of schemas, read as prefixItems");
    }
    for (exclusive, bound) in [
        ("exclusiveMinimum", "minimum"),
        ("exclusiveMaximum", "maximum"),
    ] {
        let Some(Value::Bool(flag)) = keywords.get(exclusive) else {
            continue;
        };
        let moved = if *flag { keywords.remove(bound) } else { None };
        keywords.remove(exclusive);
        keywords.extend(moved.map(|it| (exclusive.to_owned(), it)));
        report(exclusive, "read as of an older draft");
    }
    for (keyword, value) in keywords.iter_mut() {
        for (step, inner) in children(keyword, value) {
            reword(inner, is_newest, &format!("{at}/{keyword}{step}"), notes);
        }
    }
}

/// Replaces a word that is no type in JSON Schema by the type that is meant.
fn reword_type(kind: &mut String, report: &mut impl FnMut(&str, &str)) {
    let meant = match kind.to_lowercase().as_str() {
        "int" | "int32" | "int64" | "long" | "uint" => "integer",
        "float" | "double" | "decimal" => "number",
        "str" | "text" => "string",
        "bool" => "boolean",
        "list" | "tuple" | "set" => "array",
        "dict" | "map" | "record" => "object",
        "none" | "nil" => "null",
        "any" => "TYPE_UNSPECIFIED",
        _ => return,
    };
    report("type", &format!("{kind:?}, read as {meant:?}"));
    *kind = meant.to_owned();
}

/// Returns the schemas in the value of a keyword, each with the rest of its pointer.
fn children<'s>(keyword: &str, value: &'s mut Value) -> Vec<(String, &'s mut Value)> {
    let listed = |items: &'s mut Vec<Value>| {
        let items = items.iter_mut().enumerate();
        items.map(|(index, it)| (format!("/{index}"), it)).collect()
    };
    match (Position::of(keyword), value) {
        (Position::Schema | Position::Schemas, Value::Array(items)) => listed(items),
        (Position::Schema, value) => vec![(String::new(), value)],
        (Position::NamedSchemas, Value::Object(named)) => {
            let named = named.iter_mut();
            named
                .map(|(name, it)| (format!("/{}", escaped(name)), it))
                .collect()
        }
        (Position::Schemas | Position::NamedSchemas | Position::Data, _) => Vec::new(),
    }
}

/// Returns the patterns of a schema, each with its place.
fn patterns(schema: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut schema = schema.clone();
    let mut open = vec![(String::new(), &mut schema)];
    while let Some((at, schema)) = open.pop() {
        let Value::Object(keywords) = schema else {
            continue;
        };
        if let Some(pattern) = keywords.get("pattern").and_then(Value::as_str) {
            found.push((format!("{at}/pattern"), pattern.to_owned()));
        }
        let named = keywords.get("patternProperties").and_then(Value::as_object);
        for pattern in named.into_iter().flat_map(Map::keys) {
            let at = format!("{at}/patternProperties/{}", escaped(pattern));
            found.push((at, pattern.clone()));
        }
        for (keyword, value) in keywords.iter_mut() {
            let inner = children(keyword, value).into_iter();
            open.extend(inner.map(|(step, it)| (format!("{at}/{keyword}{step}"), it)));
        }
    }
    found
}

/// Removes the part at a place, with the enclosing keyword that would become stricter without it.
/// Returns the place of the removed part, or `None` if there is none.
fn take_out(schema: &mut Value, at: &str) -> Option<String> {
    let steps: Vec<String> = steps(at).collect();
    let mut steps = steps.iter().map(String::as_str);
    let (mut schema, mut path) = (schema, String::new());
    loop {
        let keyword = steps.next()?;
        let keywords = schema.as_object_mut()?;
        path = format!("{path}/{}", escaped(keyword));
        let step = match Position::of(keyword) {
            Position::Schema if !keywords.get(keyword)?.is_array() => None,
            Position::Schema | Position::Schemas | Position::NamedSchemas => steps.next(),
            Position::Data => return remove(keywords, keyword).then_some(path),
        };
        let is_single = !matches!(
            Position::of(keyword),
            Position::Schemas | Position::NamedSchemas
        ) && step.is_none();
        let is_end = step.is_none() && (!is_single || steps.len() == 0);
        if is_end || NARROWING.contains(&keyword) || keyword == "patternProperties" {
            return remove(keywords, keyword).then_some(path);
        }
        let inner = keywords.get_mut(keyword)?;
        schema = match (step, inner) {
            (None, inner) => inner,
            (Some(name), Value::Object(named)) => named.get_mut(name)?,
            (Some(index), Value::Array(items)) => items.get_mut(index.parse::<usize>().ok()?)?,
            (Some(_), _) => return None,
        };
        if let Some(step) = step {
            path = format!("{path}/{}", escaped(step));
        }
        if steps.len() == 0 {
            // A schema that is no schema at all becomes one that accepts anything.
            *schema = Value::Object(Map::new());
            return Some(path);
        }
    }
}

/// Removes a keyword, and the adjacent keywords whose meaning depends on it.
fn remove(keywords: &mut Map<String, Value>, keyword: &str) -> bool {
    let rest: BTreeSet<&str> = match keyword {
        "properties" | "patternProperties" => {
            ["additionalProperties", "unevaluatedProperties"].into()
        }
        "prefixItems" | "items" => ["items", "additionalItems", "unevaluatedItems"].into(),
        _ => BTreeSet::new(),
    };
    let was_there = keywords.remove(keyword).is_some();
    keywords.retain(|keyword, _| !rest.contains(keyword.as_str()));
    was_there
}

/// Keywords that become stricter if a schema in them accepts more.
const NARROWING: [&str; 8] = [
    "not",
    "if",
    "oneOf",
    "contains",
    "dependencies",
    "dependentSchemas",
    "unevaluatedProperties",
    "unevaluatedItems",
];

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "a test may fail")]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(schema: Value) -> (Value, Vec<String>) {
        let (schema, notes) = repaired(&schema);
        (schema, notes.into_iter().map(|(at, _)| at).collect())
    }

    #[test]
    fn other_words_for_a_keyword_are_understood() {
        let schema = json!({"type": "object", "properties": {
            "n": {"type": "int"}, "l": {"type": ["str", "null"]}, "t": {"type": "array", "items": [{"type": "bool"}]},
            "m": {"minimum": 1, "exclusiveMinimum": true}, "x": {"properties": null},
        }});
        let (repaired, notes) = of(schema);
        assert_eq!(
            repaired["properties"],
            json!({
                "n": {"type": "integer"}, "l": {"type": ["string", "null"]},
                "t": {"type": "array", "prefixItems": [{"type": "boolean"}]},
                "m": {"exclusiveMinimum": 1}, "x": {},
            })
        );
        assert_eq!(notes.len(), 6, "{notes:?}");
        assert!(notes.contains(&"/properties/n/type".to_owned()));
    }

    #[test]
    fn invalid_parts_are_removed_without_narrowing() {
        for (schema, repaired, at) in [
            (
                json!({"properties": {"a": {"type": "date"}}}),
                json!({"properties": {"a": {}}}),
                "/properties/a/type",
            ),
            (
                json!({"properties": {"a": 7, "b": {}}}),
                json!({"properties": {"a": {}, "b": {}}}),
                "/properties/a",
            ),
            (
                json!({"properties": [], "additionalProperties": false}),
                json!({}),
                "/properties",
            ),
            (json!({"not": {"type": "date"}}), json!({}), "/not"),
            (json!({"required": true}), json!({}), "/required"),
            (
                json!({"properties": {"a": {"pattern": "("}}}),
                json!({"properties": {"a": {}}}),
                "/properties/a/pattern",
            ),
            (
                json!({"patternProperties": {"(": {}}, "additionalProperties": false}),
                json!({}),
                "/patternProperties",
            ),
            (
                json!({"properties": {"a": {"pattern": "(a{1000}){1000}"}}}),
                json!({"properties": {"a": {}}}),
                "/properties/a/pattern",
            ),
            (json!({"anyOf": []}), json!({}), "/anyOf"),
            (
                json!({"items": {"enum": "a"}}),
                json!({"items": {}}),
                "/items/enum",
            ),
        ] {
            assert_eq!(of(schema), (repaired, vec![at.to_owned()]));
        }
        let whole =
            json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "^(?!x)"}}});
        assert_eq!(of(whole.clone()), (whole, Vec::new()));
    }
}
