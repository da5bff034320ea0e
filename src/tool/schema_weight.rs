//! How much work a schema makes of a value: one that refers to itself in a thousand ways would keep the checker for ever.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Says that a schema makes more work than it may, or that it cannot be told.
///
/// What is weighed is by how many schemas one place of a value may be looked at: those that stand side by side (`allOf`, `$ref`) add up, and
/// so do those of the places above it. A reference back to a schema that it stands in weighs nothing, because it leads further into
/// the value.
pub(super) fn check(schema: &Value) -> Result<(), String> {
    let mut scale = Scale {
        root: schema,
        address: address(schema),
        anchors: BTreeMap::new(),
        weighed: BTreeMap::new(),
    };
    scale.survey(schema, true)?;
    scale.weigh(schema, 0).map(drop)
}

fn address(schema: &Value) -> &'static str {
    let dialect = schema.get("$schema").and_then(Value::as_str);
    if dialect.is_some_and(|it| it.contains("draft-04")) {
        "id"
    } else {
        "$id"
    }
}

/// What becomes of one schema.
#[derive(Clone, Copy)]
enum Weighed {
    /// It is being weighed.
    Open,
    Done(u64),
}

struct Scale<'s> {
    root: &'s Value,
    /// The keyword by which a schema has an address.
    address: &'static str,
    anchors: BTreeMap<&'s str, &'s Value>,
    /// By where a schema lies in memory, which is another place for each of them.
    weighed: BTreeMap<usize, Weighed>,
}

impl<'s> Scale<'s> {
    /// Notes where references by name lead. A schema within another that has an address of its own is not followed.
    fn survey(&mut self, schema: &'s Value, is_root: bool) -> Result<(), String> {
        let Value::Object(keywords) = schema else {
            return Ok(());
        };
        if !is_root && keywords.get(self.address).is_some_and(Value::is_string) {
            return Err("a schema within it has an address (`$id`) of its own".to_owned());
        }
        for anchor in ["$anchor", "$dynamicAnchor"] {
            if let Some(name) = keywords.get(anchor).and_then(Value::as_str) {
                self.anchors.insert(name, schema);
            }
        }
        let mut inner = Vec::new();
        inside(keywords, &mut |_, schema| inner.push(schema));
        inner.into_iter().try_for_each(|it| self.survey(it, false))
    }

    /// By how many schemas a place of the value may be looked at for this one.
    fn weigh(&mut self, schema: &'s Value, depth: usize) -> Result<u64, String> {
        let Value::Object(keywords) = schema else {
            return Ok(1);
        };
        let place = std::ptr::from_ref(schema).addr();
        match self.weighed.get(&place) {
            Some(Weighed::Open) => return Ok(1),
            Some(Weighed::Done(weight)) => return Ok(*weight),
            None => {}
        }
        if depth > DEPTH_MAX {
            return Err(format!("its references go deeper than {DEPTH_MAX}"));
        }
        self.weighed.insert(place, Weighed::Open);
        let (mut here, mut below) = (Vec::new(), Vec::new());
        inside(keywords, &mut |at, schema| match at {
            At::Here => here.push(schema),
            At::Below => below.push(schema),
            At::Nowhere => {}
        });
        for reference in ["$ref", "$dynamicRef", "$recursiveRef"] {
            if let Some(to) = keywords.get(reference).and_then(Value::as_str) {
                here.extend(self.target(to)?);
            }
        }
        let mut weight = 1_u64;
        for schema in here {
            weight = weight.saturating_add(self.weigh(schema, depth + 1)?);
        }
        // What lies below is one place or another, not all of them.
        let mut heaviest = 0;
        for schema in below {
            heaviest = self.weigh(schema, depth + 1)?.max(heaviest);
        }
        weight = weight.saturating_add(heaviest);
        if weight > WEIGHT_MAX {
            return Err(format!(
                "it looks at one place of the arguments more than {WEIGHT_MAX} times"
            ));
        }
        self.weighed.insert(place, Weighed::Done(weight));
        Ok(weight)
    }

    /// The schema to which a reference leads; none where that is a schema of schemas, which is known to be no trap.
    fn target(&self, to: &str) -> Result<Option<&'s Value>, String> {
        if to.contains("://json-schema.org/") {
            return Ok(None);
        }
        let own = self.root.get(self.address).and_then(Value::as_str);
        let own = own.unwrap_or_default().trim_end_matches('#');
        let fragment = match to.strip_prefix(own).unwrap_or(to) {
            "" => Some(""),
            rest => rest.strip_prefix('#'),
        };
        let found = match fragment {
            Some(pointer) if pointer.is_empty() || pointer.starts_with('/') => {
                self.root.pointer(&percent_decoded(pointer))
            }
            Some(name) => self.anchors.get(name).copied(),
            None => None,
        };
        let unknown = || format!("expected a reference within the schema, found {to:?}");
        found.map(Some).ok_or_else(unknown)
    }
}

/// At which place of a value a schema within another looks.
enum At {
    Here,
    Below,
    /// It is only referred to.
    Nowhere,
}

/// Shows every schema that stands within one.
fn inside<'s>(keywords: &'s Map<String, Value>, show: &mut impl FnMut(At, &'s Value)) {
    for (keyword, value) in keywords {
        let at = || match keyword.as_str() {
            "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" | "dependentSchemas"
            | "dependencies" => Some(At::Here),
            "items"
            | "prefixItems"
            | "additionalItems"
            | "unevaluatedItems"
            | "contains"
            | "properties"
            | "patternProperties"
            | "additionalProperties"
            | "unevaluatedProperties"
            | "propertyNames"
            | "contentSchema" => Some(At::Below),
            "$defs" | "definitions" | "defs" => Some(At::Nowhere),
            _ => None,
        };
        let is_named = matches!(
            keyword.as_str(),
            "dependentSchemas"
                | "dependencies"
                | "properties"
                | "patternProperties"
                | "$defs"
                | "definitions"
                | "defs"
        );
        match value {
            Value::Object(named) if is_named => {
                let all = named.values().filter_map(|it| Some((at()?, it)));
                all.for_each(|(at, it)| show(at, it));
            }
            Value::Array(all) => {
                let all = all.iter().filter_map(|it| Some((at()?, it)));
                all.for_each(|(at, it)| show(at, it));
            }
            Value::Object(_) => {
                if let Some(at) = at() {
                    show(at, value);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
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

const WEIGHT_MAX: u64 = 100_000;
/// How deep schemas may stand in one another, references followed: the checker goes down with them.
const DEPTH_MAX: usize = 200;

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use serde_json::json;

    use super::*;

    /// Every schema refers to the next in two ways.
    fn doubled(levels: usize, refers: impl Fn(String) -> Value) -> Value {
        let level = |at: usize| (format!("d{at}"), refers(format!("#/$defs/d{}", at + 1)));
        let mut defs: Map<String, Value> = (0..levels).map(level).collect();
        defs.insert(format!("d{levels}"), json!({"type": "object"}));
        json!({"type": "object", "$ref": "#/$defs/d0", "$defs": defs})
    }

    #[test]
    fn what_doubles_with_every_reference_is_refused() {
        let both = |to: String| json!({"allOf": [{"$ref": to}, {"$ref": to}]});
        check(&doubled(8, both)).unwrap();
        let told = check(&doubled(40, both)).unwrap_err();
        assert!(told.contains("more than 100000 times"), "{told}");
        let below = |to: String| {
            let a = json!({"properties": {"a": {"$ref": to}}});
            json!({"allOf": [a, a]})
        };
        assert!(check(&doubled(40, below)).is_err());
        let named = json!({"$defs": {"a": {"$anchor": "x", "anyOf": [{"$ref": "#/$defs/%62"}]}, "b": doubled(40, both)},
            "$ref": "#x"});
        assert!(check(&named).is_err());
    }

    #[test]
    fn what_is_wide_or_leads_back_to_itself_is_taken() {
        let either = |to: String| json!({"properties": {"a": {"$ref": to}, "b": {"$ref": to}}});
        check(&doubled(40, either)).unwrap();
        let tree = json!({"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"},
            "children": {"type": "array", "items": {"$ref": "#"}}}});
        check(&tree).unwrap();
        let properties: Map<String, Value> = (0..5_000)
            .map(|at| (format!("p{at}"), json!({"type": "string"})))
            .collect();
        check(&json!({"type": "object", "properties": properties})).unwrap();
        check(
            &json!({"properties": {"schema": {"$ref": "http://json-schema.org/draft-07/schema#"}}}),
        )
        .unwrap();
    }

    #[test]
    fn what_cannot_be_weighed_is_refused() {
        for schema in [
            json!({"$ref": "other.json"}),
            json!({"$ref": "#/$defs/none"}),
            json!({"properties": {"a": {"$id": "https://a.example/", "type": "object"}}}),
        ] {
            assert!(check(&schema).is_err(), "{schema}");
        }
        let next = |to: String| json!({"$ref": to});
        let told = check(&doubled(1_000, next)).unwrap_err();
        assert!(told.contains("deeper than 200"), "{told}");
    }

    #[test]
    fn a_property_may_be_named_like_an_address() {
        check(&json!({"properties": {"$id": {"type": "string"}, "$ref": {"type": "string"}}}))
            .unwrap();
    }
}
