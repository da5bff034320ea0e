//! How much work a schema makes of a value: one that refers to itself in a thousand ways would keep the checker for ever.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Says that a schema makes more work than it may, or that it cannot be told.
///
/// What is weighed is by how many schemas one place of a value may be looked at: those that stand side by side (`allOf`, `$ref`) add up, and
/// so do those of the places above it. A reference back to a schema that it stands in leads further into the value: one weighs nothing, but many
/// for one place would make that many times the work at every step down.
pub(super) fn check(schema: &Value) -> Result<(), String> {
    let mut scale = Scale {
        root: schema,
        address: address(schema),
        anchors: BTreeMap::new(),
        weighed: BTreeMap::new(),
    };
    scale.survey(schema, true, false)?;
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
enum Weighed {
    /// It is being weighed.
    Open,
    Done(Weight),
}

/// What a schema makes of one place of a value.
#[derive(Clone)]
struct Weight {
    /// By how many schemas it is looked at.
    looks: u64,
    /// How many of them lead back to schemas that were being weighed, by those.
    back: BTreeMap<usize, u64>,
}

impl Weight {
    fn of(looks: u64) -> Weight {
        let back = BTreeMap::new();
        Weight { looks, back }
    }

    /// With what looks at the same place.
    fn add(&mut self, other: &Weight) {
        self.looks = self.looks.saturating_add(other.looks);
        for (to, count) in &other.back {
            let sum = self.back.entry(*to).or_default();
            *sum = sum.saturating_add(*count);
        }
    }

    /// Or what looks at another.
    fn or(&mut self, other: &Weight) {
        self.looks = self.looks.max(other.looks);
        for (to, count) in &other.back {
            let most = self.back.entry(*to).or_default();
            *most = (*most).max(*count);
        }
    }
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
    /// Notes where references by name lead. A schema with an address of its own may stand within another, but nothing in it is followed.
    fn survey(&mut self, schema: &'s Value, is_root: bool, is_apart: bool) -> Result<(), String> {
        let Value::Object(keywords) = schema else {
            return Ok(());
        };
        let is_text = |keyword: &str| keywords.get(keyword).is_some_and(Value::is_string);
        let is_apart = is_apart || !is_root && is_text(self.address);
        if is_apart && REFERENCES.into_iter().any(is_text) {
            let what = "a schema within it has an address (`$id`) of its own, and refers to others";
            return Err(what.to_owned());
        }
        for anchor in ["$anchor", "$dynamicAnchor"] {
            if let Some(name) = keywords.get(anchor).and_then(Value::as_str)
                && !is_apart
            {
                self.anchors.insert(name, schema);
            }
        }
        let mut inner = Vec::new();
        inside(keywords, &mut |_, schema| inner.push(schema));
        let mut inner = inner.into_iter();
        inner.try_for_each(|it| self.survey(it, false, is_apart))
    }

    /// What this one makes of a place of the value.
    fn weigh(&mut self, schema: &'s Value, depth: usize) -> Result<Weight, String> {
        let mut weight = Weight::of(1);
        let Value::Object(keywords) = schema else {
            return Ok(weight);
        };
        let place = std::ptr::from_ref(schema).addr();
        match self.weighed.get(&place) {
            Some(Weighed::Open) => {
                weight.back.insert(place, 1);
                return Ok(weight);
            }
            Some(Weighed::Done(known)) => {
                let mut known = known.clone();
                known.back.retain(|to, _| self.is_open(*to));
                return Ok(known);
            }
            None => {}
        }
        if depth > DEPTH_MAX {
            return Err(format!("its references go deeper than {DEPTH_MAX}"));
        }
        self.weighed.insert(place, Weighed::Open);
        let mut found = Vec::new();
        inside(keywords, &mut |at, schema| found.push((at, schema)));
        for reference in REFERENCES {
            if let Some(to) = keywords.get(reference).and_then(Value::as_str) {
                found.extend(self.target(to)?.map(|it| (At::Here, it)));
            }
        }
        weight.add(&self.below(&found, depth)?);
        for (_, schema) in found.iter().filter(|(at, _)| *at == At::Here) {
            weight.add(&self.weigh(schema, depth + 1)?);
        }
        if weight.looks > WEIGHT_MAX {
            return Err(format!(
                "it looks at one place of the arguments more than {WEIGHT_MAX} times"
            ));
        }
        let back = weight.back.values().copied();
        if back.fold(0, u64::saturating_add) > BACK_MAX {
            return Err(format!(
                "it leads back to itself from one place of the arguments more than {BACK_MAX} times"
            ));
        }
        weight.back.remove(&place);
        self.weighed.insert(place, Weighed::Done(weight.clone()));
        Ok(weight)
    }

    /// What those make of a place further in: that is one or another, not all of them.
    fn below(&mut self, found: &[(At, &'s Value)], depth: usize) -> Result<Weight, String> {
        let (mut property, mut item, mut other) = (Weight::of(0), Weight::of(0), Weight::of(0));
        let (mut matching, mut containing) = (Weight::of(0), Weight::of(0));
        for (at, schema) in found {
            match at {
                At::Here | At::Nowhere => {}
                At::Property => property.or(&self.weigh(schema, depth + 1)?),
                At::MatchingProperty => matching.add(&self.weigh(schema, depth + 1)?),
                At::Item => item.or(&self.weigh(schema, depth + 1)?),
                At::AnyItem => containing.add(&self.weigh(schema, depth + 1)?),
                At::Other => other.or(&self.weigh(schema, depth + 1)?),
            }
        }
        property.add(&matching);
        item.add(&containing);
        other.or(&property);
        other.or(&item);
        Ok(other)
    }

    fn is_open(&self, place: usize) -> bool {
        match self.weighed.get(&place) {
            Some(Weighed::Open) => true,
            Some(Weighed::Done(_)) | None => false,
        }
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
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Here,
    /// At one property, or at those of which nothing else is said.
    Property,
    /// At every property whose name fits.
    MatchingProperty,
    /// At one item, or at those of which nothing else is said.
    Item,
    /// At every item, whatever else is said of it.
    AnyItem,
    /// At another place further in.
    Other,
    /// It is only referred to.
    Nowhere,
}

/// Shows every schema that stands within one.
fn inside<'s>(keywords: &'s Map<String, Value>, show: &mut impl FnMut(At, &'s Value)) {
    for (keyword, value) in keywords {
        let at = || match keyword.as_str() {
            "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" | "dependentSchemas"
            | "dependencies" => Some(At::Here),
            "properties" | "additionalProperties" | "unevaluatedProperties" => Some(At::Property),
            "patternProperties" => Some(At::MatchingProperty),
            "items" | "prefixItems" | "additionalItems" | "unevaluatedItems" => Some(At::Item),
            "contains" => Some(At::AnyItem),
            "propertyNames" | "contentSchema" => Some(At::Other),
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

const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];
const WEIGHT_MAX: u64 = 1_000_000;
/// How many references back there may be for one place: a language of a few kinds of words needs one for each of them.
const BACK_MAX: u64 = 64;
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
        assert!(told.contains("more than 1000000 times"), "{told}");
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
    fn patterns_and_contains_look_at_a_place_besides_what_is_said_of_it() {
        let by_patterns =
            |to: String| json!({"patternProperties": {"a": {"$ref": to}, "^a": {"$ref": to}}});
        let besides = |to: String| json!({"properties": {"a": {"$ref": to}}, "patternProperties": {"a": {"$ref": to}}});
        let contains = |to: String| json!({"items": {"$ref": to}, "contains": {"$ref": to}});
        let one = |to: String| json!({"properties": {"a": {"$ref": to}}, "additionalProperties": {"$ref": to}, "items": {"$ref": to}});
        assert!(check(&doubled(40, by_patterns)).is_err());
        assert!(check(&doubled(40, besides)).is_err());
        assert!(check(&doubled(40, contains)).is_err());
        check(&doubled(40, one)).unwrap();
    }

    #[test]
    fn what_leads_back_in_many_ways_from_one_place_is_refused() {
        let kinds = |count: usize| {
            let kind = |at| json!({"properties": {"is": {"const": at}, "of": {"$ref": "#"}}});
            json!({"anyOf": (0..count).map(kind).collect::<Vec<_>>()})
        };
        check(&kinds(64)).unwrap();
        let told = check(&kinds(65)).unwrap_err();
        assert!(told.contains("more than 64 times"), "{told}");
        // A tree that is looked at by many is a tree.
        let tree = json!({"properties": {"left": {"$ref": "#/$defs/tree"}, "right": {"$ref": "#/$defs/tree"}}});
        let many = vec![json!({"$ref": "#/$defs/tree"}); 100];
        check(&json!({"allOf": many, "$defs": {"tree": tree}})).unwrap();
    }

    #[test]
    fn ten_alternatives_five_levels_deep_and_an_address_to_which_nothing_refers_are_taken() {
        let either =
            |to: String| json!({"anyOf": vec![json!({"properties": {"a": {"$ref": to}}}); 10]});
        check(&doubled(5, either)).unwrap();
        assert!(check(&doubled(6, either)).is_err());
        check(&json!({"properties": {"a": {"$id": "https://a.example/", "type": "object"}}}))
            .unwrap();
    }

    #[test]
    fn what_cannot_be_weighed_is_refused() {
        for schema in [
            json!({"$ref": "other.json"}),
            json!({"$ref": "#/$defs/none"}),
            json!({"properties": {"a": {"$id": "https://a.example/", "items": {"$ref": "#"}}}}),
            json!({"properties": {"a": {"$id": "https://a.example/"}, "b": {"$ref": "https://a.example/"}}}),
            json!({"properties": {"a": {"$id": "https://a.example/", "$anchor": "x"}, "b": {"$ref": "#x"}}}),
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
