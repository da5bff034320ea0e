//! How much work it is to check a value by a schema: one that refers to itself in many ways would keep the checker for ever.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// At how many places of values schemas may look, for one value; each counts as often as it is looked at.
const LOOKS_MAX: usize = 500_000;
/// How deep schemas may stand in one another, references followed, and values with them: the checker goes down with both.
const DEPTH_MAX: usize = 1_000;

const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// A schema that refers to others, so that how often it looks at a place is told by the value only.
pub(super) struct Work {
    schema: Value,
    /// The keyword by which a schema has an address.
    address: &'static str,
    /// The schemas that have a name.
    anchors: BTreeMap<String, Value>,
}

impl Work {
    /// None where the schema refers to nothing: then it looks at no place more often than it is long.
    ///
    /// The error says why the work cannot be told, or that it is too much whatever the value is.
    pub(super) fn of(schema: &Value) -> Result<Option<Work>, String> {
        let dialect = schema.get("$schema").and_then(Value::as_str);
        let is_old = dialect.is_some_and(|it| it.contains("draft-04"));
        let mut work = Work {
            schema: schema.clone(),
            address: if is_old { "id" } else { "$id" },
            anchors: BTreeMap::new(),
        };
        let mut references = Vec::new();
        work.survey(schema, &mut references)?;
        if references.is_empty() {
            return Ok(None);
        }
        for to in references {
            work.target(to)?;
        }
        work.check(&json!({}))?;
        Ok(Some(work))
    }

    /// Says that the value is more work than may be.
    pub(super) fn check(&self, value: &Value) -> Result<(), String> {
        let (mut looks, mut open) = (0, vec![(&self.schema, value, 0)]);
        while let Some((schema, value, depth)) = open.pop() {
            if depth > DEPTH_MAX {
                return Err(format!("its references go deeper than {DEPTH_MAX}"));
            }
            let Value::Object(keywords) = schema else {
                continue;
            };
            for reference in REFERENCES {
                if let Some(to) = keywords.get(reference).and_then(Value::as_str) {
                    open.extend(self.target(to)?.map(|it| (it, value, depth + 1)));
                }
            }
            for (at, schema) in inside(keywords) {
                for place in places(at, keywords, value) {
                    looks += 1;
                    if looks > LOOKS_MAX {
                        return Err(format!("it looks at places more than {LOOKS_MAX} times"));
                    }
                    open.push((schema, place, depth + 1));
                }
            }
        }
        Ok(())
    }

    /// Notes what has a name and what is referred to. A schema with an address of its own may stand within another, but what it refers to
    /// is not followed.
    fn survey<'s>(&mut self, root: &'s Value, references: &mut Vec<&'s str>) -> Result<(), String> {
        let mut open = vec![(root, false)];
        while let Some((schema, is_apart)) = open.pop() {
            let Value::Object(keywords) = schema else {
                continue;
            };
            let text = |keyword: &str| keywords.get(keyword).and_then(Value::as_str);
            let is_root = std::ptr::eq(schema, root);
            let is_apart = is_apart || !is_root && text(self.address).is_some();
            let refers = REFERENCES.into_iter().filter_map(text);
            references.extend(refers.clone());
            if is_apart && refers.count() > 0 {
                let what =
                    "a schema within it has an address (`$id`) of its own, and refers to others";
                return Err(what.to_owned());
            }
            for name in ["$anchor", "$dynamicAnchor"].into_iter().filter_map(text) {
                if !is_apart {
                    self.anchors.insert(name.to_owned(), schema.clone());
                }
            }
            open.extend(inside(keywords).map(|(_, schema)| (schema, is_apart)));
        }
        Ok(())
    }

    /// The schema to which a reference leads; none where that is a schema of schemas, which is known to be no trap.
    fn target(&self, to: &str) -> Result<Option<&Value>, String> {
        if to.contains("://json-schema.org/") {
            return Ok(None);
        }
        let own = self.schema.get(self.address).and_then(Value::as_str);
        let own = own.unwrap_or_default().trim_end_matches('#');
        let fragment = match to.strip_prefix(own).unwrap_or(to) {
            "" => Some(""),
            rest => rest.strip_prefix('#'),
        };
        let found = match fragment {
            Some(pointer) if pointer.is_empty() || pointer.starts_with('/') => {
                self.schema.pointer(&percent_decoded(pointer))
            }
            Some(name) => self.anchors.get(name),
            None => None,
        };
        let unknown = || format!("expected a reference within the schema, found {to:?}");
        found.map(Some).ok_or_else(unknown)
    }
}

/// At which places of a value a schema within another looks.
#[derive(Clone, Copy)]
enum At<'s> {
    /// At the place itself.
    Here,
    Property(&'s str),
    /// At all of which `properties` says nothing.
    OtherProperties,
    /// At every property, as if each name fitted.
    Properties,
    Item(usize),
    /// At all behind those of which something is said one by one.
    OtherItems,
    Items,
    /// It is only referred to.
    Nowhere,
}

/// Every schema that stands within one.
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

/// The places of a value, as many of them as a schema looks at.
fn places<'v>(at: At<'_>, keywords: &Map<String, Value>, value: &'v Value) -> Vec<&'v Value> {
    match (at, value) {
        (At::Here, _) => vec![value],
        (At::Property(name), Value::Object(fields)) => fields.get(name).into_iter().collect(),
        (At::Properties, Value::Object(fields)) => fields.values().collect(),
        (At::OtherProperties, Value::Object(fields)) => {
            let told = keywords.get("properties").and_then(Value::as_object);
            let is_told = |name: &String| told.is_some_and(|told| told.contains_key(name));
            let others = fields.iter().filter(|(name, _)| !is_told(name));
            others.map(|(_, it)| it).collect()
        }
        (At::Item(at), Value::Array(items)) => items.get(at).into_iter().collect(),
        (At::Items, Value::Array(items)) => items.iter().collect(),
        (At::OtherItems, Value::Array(items)) => {
            let told =
                ["prefixItems", "items"].map(|it| keywords.get(it).and_then(Value::as_array));
            let told = told.into_iter().flatten().map(Vec::len).max();
            items.iter().skip(told.unwrap_or_default()).collect()
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

/// A pointer as it is meant where it stands in a URL.
fn percent_decoded(pointer: &str) -> String {
    let mut bytes = Vec::with_capacity(pointer.len());
    let mut rest = pointer.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|it| std::str::from_utf8(it).ok());
        let code = code.and_then(|it| u8::from_str_radix(it, 16).ok());
        match code.filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;
    use crate::tool::arguments::fits_schema;

    fn check(schema: &Value, value: &Value) -> Result<(), String> {
        Work::of(schema)?.map_or(Ok(()), |work| work.check(value))
    }

    /// Every schema refers to the next in two ways.
    fn doubled(levels: usize, refers: impl Fn(String) -> Value) -> Value {
        let level = |at: usize| (format!("d{at}"), refers(format!("#/$defs/d{}", at + 1)));
        let mut defs: Map<String, Value> = (0..levels).map(level).collect();
        defs.insert(format!("d{levels}"), json!({"type": "object"}));
        json!({"type": "object", "$ref": "#/$defs/d0", "$defs": defs})
    }

    /// As deep as arguments may be.
    fn deep(levels: usize, around: impl Fn(Value) -> Value) -> Value {
        (0..levels).fold(json!({}), |inner, _| around(inner))
    }

    #[test]
    fn what_doubles_with_every_reference_is_refused() {
        let both = |to: String| json!({"allOf": [{"$ref": to}, {"$ref": to}]});
        assert!(Work::of(&doubled(8, both)).is_ok());
        // That is so whatever the value is.
        let told = Work::of(&doubled(40, both)).err().unwrap();
        assert!(told.contains("more than 500000 times"), "{told}");
        let below = |to: String| {
            let a = json!({"properties": {"a": {"$ref": to}}});
            json!({"allOf": [a, a]})
        };
        let a = |inner| json!({"a": inner});
        check(&doubled(40, below), &deep(10, a)).unwrap();
        assert!(check(&doubled(40, below), &deep(40, a)).is_err());
        let named = json!({"$defs": {"a": {"$anchor": "x", "anyOf": [{"$ref": "#/$defs/%62"}]}, "b": doubled(40, both)},
            "$ref": "#x"});
        assert!(Work::of(&named).is_err());
    }

    #[test]
    fn what_leads_back_to_itself_in_many_ways_is_refused_for_a_value_that_is_deep_enough() {
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
    fn what_is_wide_or_leads_back_to_itself_once_is_taken() {
        let tree = json!({"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"},
            "children": {"type": "array", "items": {"$ref": "#"}}}, "additionalProperties": {"$ref": "#"}});
        let inner = |inner: Value| json!({"left": inner, "other": 1});
        check(&tree, &deep(60, inner)).unwrap();
        let tuple = json!({"prefixItems": [{"$ref": "#"}], "items": {"$ref": "#"}});
        check(&tuple, &deep(60, |inner| json!([inner]))).unwrap();
        let either =
            |to: String| json!({"anyOf": vec![json!({"properties": {"a": {"$ref": to}}}); 10]});
        check(&doubled(5, either), &deep(5, |inner| json!({"a": inner}))).unwrap();
        let schemas =
            json!({"properties": {"schema": {"$ref": "http://json-schema.org/draft-07/schema#"}}});
        check(&schemas, &json!({"schema": {}})).unwrap();
        // What refers to nothing need not be asked.
        let long: Map<String, Value> = (0..5_000)
            .map(|at| (format!("p{at}"), json!({"type": "string"})))
            .collect();
        assert!(Work::of(&json!({"properties": long})).unwrap().is_none());
        let apart = json!({"properties": {"a": {"$id": "https://a.example/", "type": "object"}}});
        assert!(Work::of(&apart).unwrap().is_none());
    }

    #[test]
    fn what_cannot_be_told_is_refused() {
        for schema in [
            json!({"$ref": "other.json"}),
            json!({"$ref": "#/$defs/none"}),
            json!({"properties": {"a": {"$id": "https://a.example/", "items": {"$ref": "#"}}}}),
            json!({"properties": {"a": {"$id": "https://a.example/"}, "b": {"$ref": "https://a.example/"}}}),
            json!({"properties": {"a": {"$id": "https://a.example/", "$anchor": "x"}, "b": {"$ref": "#x"}}}),
        ] {
            assert!(Work::of(&schema).is_err(), "{schema}");
        }
        let next = |to: String| json!({"$ref": to});
        let told = Work::of(&doubled(2_000, next)).err().unwrap();
        assert!(told.contains("deeper than 1000"), "{told}");
    }

    #[test]
    fn what_goes_as_deep_as_may_be_fits_the_stack_of_the_checker() {
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
