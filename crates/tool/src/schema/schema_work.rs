//! The cost limit of a check: a schema that refers to itself several times could keep the checker
//! busy for ever.
//!
//! The walk counts the checker's visits, so both must read the schema alike. If a schema has
//! references, constructs that the checker would read differently are rejected.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// The maximum number of visits for one value. A visit of a schema counts each listed member.
const VISITS_MAX: usize = 2_000_000;
/// The maximum depth of nested schemas, with references followed, and of values: the checker
/// recurses into both.
const DEPTH_MAX: usize = 1_000;
/// The maximum number of schemas inside one: the checker compares each pair before it checks
/// anything.
const SCHEMAS_MAX: usize = 10_000;
/// The maximum number of patterns in a schema, and of bytes in a pattern: the checker compiles each
/// to an automaton.
const PATTERNS_MAX: (usize, usize) = (200, 2_000);

/// References whose target depends on the value.
const DYNAMIC: [&str; 2] = ["$dynamicRef", "$recursiveRef"];
/// Dialects in which `$id` is the address of a schema.
const DIALECTS: [&str; 4] = [
    NEWEST,
    "json-schema.org/draft/2019-09/schema",
    "json-schema.org/draft-07/schema",
    "json-schema.org/draft-06/schema",
];
const NEWEST: &str = "json-schema.org/draft/2020-12/schema";

/// A schema with references, whose number of visits depends on the value.
pub(crate) struct Work {
    schema: Value,
    /// True if the dialect has `prefixItems`, with `items` for the rest.
    is_newest: bool,
}

impl Work {
    /// Returns `None` for a schema without references, whose visits to a place are bounded by its
    /// own length.
    ///
    /// The error says why the work is unknown, or that it is too much for every value.
    pub(crate) fn of(schema: &Value) -> Result<Option<Work>, String> {
        let survey = Survey::of(schema)?;
        if survey.references.is_empty() {
            return Ok(None);
        }
        let dialect = dialect(schema)?;
        refuse_other_documents(schema)?;
        for to in &survey.references {
            let found = target(schema, to).filter(|it| survey.schemas.contains(&address(it)));
            if found.is_none() {
                return Err(format!(
                    "references out of the schema are not followed: expected one to a schema within it, as #/$defs/name, found {to:?}"
                ));
            }
        }
        let mut schema = schema.clone();
        // No reference uses the schema's own address.
        schema.as_object_mut().and_then(|it| it.remove("$id"));
        let work = Work {
            schema,
            is_newest: dialect == NEWEST,
        };
        work.check(&json!({}))?;
        Ok(Some(work))
    }

    /// Returns the schema for the checker.
    pub(crate) fn schema(&self) -> &Value {
        &self.schema
    }

    /// Rejects a value that needs too much work.
    pub(crate) fn check(&self, value: &Value) -> Result<(), String> {
        let (mut visits, mut open) = (0, vec![(&self.schema, value, 0)]);
        while let Some((schema, value, depth)) = open.pop() {
            if depth > DEPTH_MAX {
                return Err(format!("its references go deeper than {DEPTH_MAX}"));
            }
            let Value::Object(keywords) = schema else {
                continue;
            };
            visits += keywords.values().map(length).sum::<usize>();
            let to = keywords.get("$ref").and_then(Value::as_str);
            let to = to.and_then(|to| target(&self.schema, to));
            open.extend(to.map(|it| (it, value, depth + 1)));
            for (at, schema) in inside(keywords) {
                for place in self.places(at, keywords, value) {
                    visits += 1;
                    open.push((schema, place, depth + 1));
                    if visits > VISITS_MAX {
                        break;
                    }
                }
            }
            if visits > VISITS_MAX {
                return Err(format!("it looks at more than {VISITS_MAX} places"));
            }
        }
        Ok(())
    }

    /// Returns the parts of a value that a schema visits.
    fn places<'v>(
        &self,
        at: At<'_>,
        keywords: &Map<String, Value>,
        value: &'v Value,
    ) -> Vec<&'v Value> {
        match (at, value) {
            (At::Here, _) => vec![value],
            (At::Property(name), Value::Object(fields)) => fields.get(name).into_iter().collect(),
            (At::Properties, Value::Object(fields)) => fields.values().collect(),
            (At::OtherProperties, Value::Object(fields)) => {
                let named = keywords.get("properties").and_then(Value::as_object);
                let is_named = |name: &String| named.is_some_and(|named| named.contains_key(name));
                let others = fields.iter().filter(|(name, _)| !is_named(name));
                others.map(|(_, it)| it).collect()
            }
            (At::Item(at), Value::Array(items)) => items.get(at).into_iter().collect(),
            (At::Items, Value::Array(items)) => items.iter().collect(),
            (At::OtherItems, Value::Array(items)) => {
                let named = if self.is_newest {
                    "prefixItems"
                } else {
                    "items"
                };
                let named = keywords.get(named).and_then(Value::as_array);
                items.iter().skip(named.map_or(0, Vec::len)).collect()
            }
            (
                At::Property(_)
                | At::Properties
                | At::OtherProperties
                | At::Item(_)
                | At::Items
                | At::OtherItems
                | At::Nowhere,
                _,
            ) => Vec::new(),
        }
    }
}

/// The schemas and references inside a schema.
#[derive(Default)]
struct Survey<'s> {
    /// The address in memory of each schema.
    schemas: BTreeSet<usize>,
    references: Vec<&'s str>,
}

impl<'s> Survey<'s> {
    fn of(root: &'s Value) -> Result<Survey<'s>, String> {
        let (mut survey, mut patterns) = (Survey::default(), 0);
        let mut open = vec![root];
        while let Some(schema) = open.pop() {
            survey.schemas.insert(address(schema));
            if survey.schemas.len() > SCHEMAS_MAX {
                return Err(format!("expected at most {SCHEMAS_MAX} schemas in it"));
            }
            let Value::Object(keywords) = schema else {
                continue;
            };
            let text = |keyword: &str| keywords.get(keyword).and_then(Value::as_str);
            survey.references.extend(text("$ref"));
            if let Some(dynamic) = DYNAMIC.into_iter().find(|it| text(it).is_some()) {
                return Err(format!("expected references by `$ref`, found `{dynamic}`"));
            }
            let named = keywords.get("patternProperties").and_then(Value::as_object);
            let named = named.into_iter().flat_map(Map::keys).map(String::as_str);
            for pattern in named.chain(text("pattern")) {
                patterns += 1;
                let (count_max, bytes_max) = PATTERNS_MAX;
                if patterns > count_max || pattern.len() > bytes_max {
                    return Err(format!(
                        "expected at most {count_max} patterns in it, of at most {bytes_max} bytes"
                    ));
                }
            }
            open.extend(inside(keywords).map(|(_, schema)| schema));
        }
        Ok(survey)
    }
}

/// Returns the address of a value in memory, which identifies it.
fn address(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}

/// Returns the dialect of the schema.
fn dialect(schema: &Value) -> Result<&'static str, String> {
    let Some(declared) = schema.get("$schema").and_then(Value::as_str) else {
        return Ok(NEWEST);
    };
    let bare = declared.strip_suffix('#').unwrap_or(declared);
    let bare = ["https://", "http://"]
        .into_iter()
        .find_map(|it| bare.strip_prefix(it));
    let known = DIALECTS.into_iter().find(|it| Some(*it) == bare);
    known.ok_or_else(|| {
        format!("it refers to schemas, in a dialect of which that is not taken: {declared:?}")
    })
}

/// Rejects inner schemas with their own address, which the checker reads as other documents.
fn refuse_other_documents(root: &Value) -> Result<(), String> {
    let mut open = vec![root];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(fields) => {
                let named = |key: &str| fields.get(key).is_some_and(Value::is_string);
                let other = ["$id", "$schema"].into_iter().find(|key| named(key));
                if let Some(key) = other.filter(|_| !std::ptr::eq(value, root)) {
                    return Err(format!(
                        "it refers to schemas, and a schema within it has a `{key}` of its own"
                    ));
                }
                open.extend(fields.values());
            }
            Value::Array(items) => open.extend(items),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    Ok(())
}

/// Returns the target of a reference within the document.
fn target<'s>(root: &'s Value, to: &str) -> Option<&'s Value> {
    let pointer = to.strip_prefix('#')?;
    root.pointer(&percent_decoded(pointer)?)
}

/// Returns the number of members that a keyword lists.
fn length(value: &Value) -> usize {
    match value {
        Value::Array(all) => 1 + all.len(),
        Value::Object(named) => 1 + named.len(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}

/// The parts of a value that an inner schema visits.
#[derive(Clone, Copy)]
enum At<'s> {
    /// The value itself.
    Here,
    Property(&'s str),
    /// All properties that `properties` does not name.
    OtherProperties,
    /// All properties, as if every name matched.
    Properties,
    Item(usize),
    /// All items after those with a schema of their own.
    OtherItems,
    Items,
    /// No part: the schema is only a target of references.
    Nowhere,
}

/// Returns every schema directly inside another.
fn inside<'s>(keywords: &'s Map<String, Value>) -> impl Iterator<Item = (At<'s>, &'s Value)> {
    keywords
        .iter()
        .flat_map(|(keyword, value)| within(keyword, value))
}

fn within<'s>(keyword: &str, value: &'s Value) -> Vec<(At<'s>, &'s Value)> {
    let each = |at: At<'s>| match value {
        Value::Object(named) => named.values().map(|it| (at, it)).collect(),
        Value::Array(all) => all.iter().map(|it| (at, it)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    match (keyword, value) {
        (
            "allOf" | "anyOf" | "oneOf" | "dependentSchemas" | "dependencies",
            Value::Object(_) | Value::Array(_),
        ) => each(At::Here),
        ("not" | "if" | "then" | "else", _) => vec![(At::Here, value)],
        ("properties", Value::Object(named)) => {
            let named = named.iter();
            named.map(|(name, it)| (At::Property(name), it)).collect()
        }
        ("patternProperties", _) => each(At::Properties),
        ("propertyNames", _) => vec![(At::Properties, value)],
        ("additionalProperties" | "unevaluatedProperties", _) => {
            vec![(At::OtherProperties, value)]
        }
        ("prefixItems" | "items", Value::Array(all)) => {
            let all = all.iter().enumerate();
            all.map(|(at, it)| (At::Item(at), it)).collect()
        }
        ("items" | "additionalItems" | "unevaluatedItems", _) => vec![(At::OtherItems, value)],
        ("contains", _) => vec![(At::Items, value)],
        ("$defs" | "definitions" | "defs", _) => each(At::Nowhere),
        _ => Vec::new(),
    }
}

/// Decodes a pointer from a URL; `None` if it is invalid.
fn percent_decoded(pointer: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(pointer.len());
    let mut rest = pointer.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (code, after) = after.split_at_checked(2)?;
        let digit = |it: &u8| char::from(*it).to_digit(16);
        let (high, low) = (digit(code.first()?)?, digit(code.last()?)?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;
    use crate::schema::arguments::fits_schema;

    fn check(schema: &Value, value: &Value) -> Result<(), String> {
        Work::of(schema)?.map_or(Ok(()), |work| work.check(value))
    }

    /// Returns schemas of which each refers to the next in two ways.
    fn doubled(levels: usize, refers: impl Fn(String) -> Value) -> Value {
        let level = |at: usize| (format!("d{at}"), refers(format!("#/$defs/d{}", at + 1)));
        let mut defs: Map<String, Value> = (0..levels).map(level).collect();
        defs.insert(format!("d{levels}"), json!({"type": "object"}));
        json!({"type": "object", "$ref": "#/$defs/d0", "$defs": defs})
    }

    /// Returns a value with this many levels.
    fn deep(levels: usize, around: impl Fn(Value) -> Value) -> Value {
        (0..levels).fold(json!({}), |inner, _| around(inner))
    }

    #[test]
    fn exponential_references_are_rejected() {
        let both = |to: String| json!({"allOf": [{"$ref": to}, {"$ref": to}]});
        assert!(Work::of(&doubled(8, both)).is_ok());
        // The error is independent of the value.
        let error = Work::of(&doubled(40, both)).err().unwrap();
        assert!(error.contains("more than 2000000 places"), "{error}");
        let twice = |to: String| json!({"$ref": &to, "anyOf": [{"$ref": to}]});
        assert!(Work::of(&doubled(40, twice)).is_err());
        let below = |to: String| {
            let a = json!({"properties": {"a": {"$ref": to}}});
            json!({"allOf": [a, a]})
        };
        let a = |inner| json!({"a": inner});
        check(&doubled(40, below), &deep(10, a)).unwrap();
        assert!(check(&doubled(40, below), &deep(40, a)).is_err());
        let coded = json!({"$ref": "#/$defs/%61", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {}}});
        assert!(Work::of(&coded).unwrap().is_some());
        // A leaf costs the number of its members.
        let names: Vec<String> = (0..2_000).map(|at| format!("a{at}")).collect();
        let leaf = json!({"required": names});
        let many =
            json!({"allOf": vec![json!({"$ref": "#/$defs/leaf"}); 1_500], "$defs": {"leaf": leaf}});
        assert!(Work::of(&many).is_err());
    }

    #[test]
    fn recursive_schema_is_rejected_for_a_deep_value() {
        let kind = |at| json!({"properties": {"is": {"const": at}, "of": {"$ref": "#"}}});
        let kinds = json!({"anyOf": (0..5).map(kind).collect::<Vec<_>>()});
        let of = |inner| json!({"of": inner});
        check(&kinds, &deep(6, of)).unwrap();
        assert!(check(&kinds, &deep(60, of)).is_err());
        let x = vec![json!({"properties": {"x": {"$ref": "#"}}}); 1_000];
        let many = json!({"allOf": x});
        assert!(check(&many, &deep(4, |inner| json!({"x": inner}))).is_err());
        let patterns = json!({"patternProperties": {"x": {"$ref": "#"}, "^x": {"$ref": "#"}}});
        assert!(check(&patterns, &deep(60, |inner| json!({"x": inner}))).is_err());
        let contains = json!({"items": {"$ref": "#"}, "contains": {"$ref": "#"}});
        assert!(check(&contains, &deep(60, |inner| json!([inner]))).is_err());
    }

    #[test]
    fn wide_or_simply_recursive_schema_is_accepted() {
        let tree = json!({"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"},
            "children": {"type": "array", "items": {"$ref": "#"}}}, "additionalProperties": {"$ref": "#"}});
        let inner = |inner: Value| json!({"left": inner, "other": 1});
        check(&tree, &deep(60, inner)).unwrap();
        let tuple = json!({"prefixItems": [{"$ref": "#"}], "items": {"$ref": "#"}});
        check(&tuple, &deep(60, |inner| json!([inner]))).unwrap();
        let either =
            |to: String| json!({"anyOf": vec![json!({"properties": {"a": {"$ref": to}}}); 10]});
        check(&doubled(5, either), &deep(5, |inner| json!({"a": inner}))).unwrap();
        // A schema without references needs no limit.
        let long: Map<String, Value> = (0..5_000)
            .map(|at| (format!("p{at}"), json!({"type": "string"})))
            .collect();
        assert!(Work::of(&json!({"properties": long})).unwrap().is_none());
        let apart = json!({"properties": {"a": {"$id": "https://a.example/", "type": "object"}}});
        assert!(Work::of(&apart).unwrap().is_none());
    }

    #[test]
    fn ambiguous_references_are_rejected() {
        let trap = doubled(40, |to| json!({"allOf": [{"$ref": to}, {"$ref": to}]}));
        let defs = trap.get("$defs");
        let elsewhere = json!({"$id": "https://a.example/", "$ref": "#/$defs/d0", "$defs": defs});
        let newest = "https://json-schema.org/draft/2020-12/schema";
        for schema in [
            json!({"$ref": "other.json"}),
            json!({"$ref": "#/$defs/none"}),
            json!({"$ref": "#/$defs/%+1", "$defs": {"%+1": {}}}),
            json!({"$ref": "#x", "$defs": {"a": {"$anchor": "x"}}}),
            json!({"$dynamicRef": "#/$defs/a", "$defs": {"a": {}}}),
            json!({"$recursiveRef": "#"}),
            json!({"$id": "https://a.example/", "$ref": "https://a.example/#/$defs/a", "$defs": {"a": {}}}),
            json!({"$ref": newest, "$dynamicAnchor": "meta"}),
            // A value that is no schema is no target, even if the checker would read it as one.
            json!({"$ref": "#/x/a", "x": {"a": elsewhere}, "$defs": {"d0": true}}),
            json!({"$ref": "#/contentSchema", "contentSchema": trap}),
            json!({"properties": {"a": {"$id": "https://a.example/", "items": {"$ref": "#"}}}}),
            json!({"properties": {"a": {"const": {"$id": "https://a.example/"}}, "b": {"$ref": "#"}}}),
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"$schema": newest}}}),
            json!({"$schema": format!("{newest}#draft-04"), "$ref": "#/$defs/a", "$defs": {"a": {}}}),
            json!({"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"a": {"$ref": "#"}}}),
        ] {
            assert!(Work::of(&schema).is_err(), "{schema}");
        }
        // An older dialect does not know `prefixItems`.
        let x = json!({"prefixItems": [true], "items": {"allOf": [{"$ref": "#/properties/x"}, {"$ref": "#/properties/x"}]}});
        let nested = json!({"x": deep(60, |inner| json!([inner]))});
        let draft_7 = "http://json-schema.org/draft-07/schema#";
        let old = json!({"$schema": draft_7, "properties": {"x": x}});
        assert!(check(&old, &nested).is_err());
        check(&json!({"properties": {"x": x}}), &nested).unwrap();
        let draft_7 = json!({"$schema": draft_7, "$ref": "#/definitions/a", "definitions": {"a": {"items": [{"$ref": "#"}]}}});
        check(&draft_7, &json!([[[]]])).unwrap();
    }

    #[test]
    fn schema_too_costly_to_compile_is_rejected() {
        let many = json!({"allOf": vec![json!({}); 10_001]});
        let patterns = json!({"allOf": vec![json!({"pattern": "a"}); 201]});
        let long = json!({"patternProperties": {"\\d".repeat(1_001): {}}});
        let dynamic = json!({"properties": {"a": {"$dynamicRef": "#a"}}});
        for schema in [many, patterns, long, dynamic] {
            assert!(Work::of(&schema).is_err());
        }
    }

    #[test]
    fn too_deep_references_are_rejected() {
        let next = |to: String| json!({"$ref": to});
        let error = Work::of(&doubled(2_000, next)).err().unwrap();
        assert!(error.contains("deeper than 1000"), "{error}");
    }

    #[test]
    fn maximum_depth_fits_the_checker_stack() {
        let next = |to: String| json!({"allOf": [{"$ref": to}]});
        let schema = doubled(DEPTH_MAX / 2 - 2, next);
        fits_schema(&schema, &json!({})).unwrap();
        let chain = json!({"allOf": [{"allOf": [{"properties": {"a": {"$ref": "#"}}}]}]});
        let a = |inner| json!({"a": inner});
        fits_schema(&chain, &deep(DEPTH_MAX / 4 - 2, a)).unwrap();
    }

    #[test]
    fn a_property_may_be_named_like_an_address() {
        let schema = json!({"properties": {"$id": {"type": "string"}, "$ref": {"type": "string"}}});
        assert!(Work::of(&schema).unwrap().is_none());
    }
}
