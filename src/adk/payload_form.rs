//! The payload in the confirmation form that an ADK client shows: a value of the shape of the
//! request's schema.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::session::Json;

/// The maximum depth of a form. A recursive schema has no end.
const DEPTH_MAX: usize = 16;
/// The maximum number of schemas read for one form. A schema may come from a foreign server.
const SCHEMAS_MAX: usize = 1_000;

/// A payload of the shape that a schema asks for, as a client shows it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PayloadForm {
    /// The payload; `null` if the schema does not define a shape.
    payload: Value,
    /// True if each value is binding, except those of `unbinding_fields`. Binding values are a
    /// `const`, a `default` and the only value of an `enum`.
    is_binding: bool,
    /// The fields of an object whose values are not binding.
    unbinding_fields: BTreeSet<String>,
}

impl PayloadForm {
    /// Reads the form from a schema.
    ///
    /// Constants and defaults come first, then examples, then the zero value of each type. Optional
    /// properties are omitted unless they have a default.
    pub(crate) fn of(schema: &Json) -> PayloadForm {
        let root = schema.to_value();
        let mut reader = Reader {
            root: &root,
            schemas_left: SCHEMAS_MAX,
        };
        reader.form(&root, DEPTH_MAX)
    }

    /// Returns the payload as a client shows it, or `None` if the schema does not define a shape.
    pub(crate) fn shown(&self) -> Option<Json> {
        (!self.payload.is_null()).then(|| Json::of(&self.payload))
    }

    /// Returns the payload that a yes without a payload implies: one with binding values only.
    pub(crate) fn binding_payload(self) -> Option<Value> {
        (self.is_binding() && !self.payload.is_null()).then_some(self.payload)
    }

    /// True if each value is binding.
    fn is_binding(&self) -> bool {
        self.is_binding && self.unbinding_fields.is_empty()
    }

    /// Merges the form of a further part of an `allOf`.
    ///
    /// The later value of a field replaces the earlier one, with two exceptions. A value that is
    /// not binding does not replace a binding one, and the `null` of a field without a schema
    /// replaces nothing.
    fn merge(&mut self, part: PayloadForm) {
        match (&mut self.payload, part.payload) {
            (Value::Object(fields), Value::Object(more)) => {
                for (name, value) in more {
                    let is_binding = part.is_binding && !part.unbinding_fields.contains(&name);
                    let keeps_earlier = fields.contains_key(&name)
                        && (value.is_null() || !self.unbinding_fields.contains(&name));
                    if is_binding {
                        self.unbinding_fields.remove(&name);
                    } else if keeps_earlier {
                        continue;
                    } else {
                        self.unbinding_fields.insert(name.clone());
                    }
                    fields.insert(name, value);
                }
            }
            (Value::Object(fields), other) if fields.is_empty() => self.payload = other,
            (_, _) => {}
        }
        self.is_binding &= part.is_binding;
    }
}

struct Reader<'s> {
    root: &'s Value,
    schemas_left: usize,
}

impl<'s> Reader<'s> {
    fn form(&mut self, schema: &'s Value, depth_left: usize) -> PayloadForm {
        let left = (depth_left.checked_sub(1), self.schemas_left.checked_sub(1));
        let (Some(depth_left), Some(schemas_left)) = left else {
            return unbinding(Value::Null);
        };
        self.schemas_left = schemas_left;
        let written = schema.get("const").or_else(|| schema.get("default"));
        if let Some(written) = written.or_else(|| only(schema)) {
            return PayloadForm {
                payload: written.clone(),
                is_binding: true,
                unbinding_fields: BTreeSet::new(),
            };
        }
        if let Some(example) = schema.pointer("/examples/0") {
            return unbinding(example.clone());
        }
        if let Some(to) = schema.get("$ref").and_then(Value::as_str) {
            let found = to.strip_prefix('#').and_then(|it| self.root.pointer(it));
            return found.map_or_else(|| unbinding(Value::Null), |it| self.form(it, depth_left));
        }
        if let Some(parts) = schema.get("allOf").and_then(Value::as_array) {
            let mut whole = self.of_type(schema, depth_left);
            for part in parts {
                whole.merge(self.form(part, depth_left));
            }
            return whole;
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(first) = schema.get(key).and_then(|it| it.get(0)) {
                // The schema does not say which of the alternatives is meant.
                return unbinding(self.form(first, depth_left).payload);
            }
        }
        self.of_type(schema, depth_left)
    }

    fn of_type(&mut self, schema: &'s Value, depth_left: usize) -> PayloadForm {
        match type_of(schema) {
            Some("object") => self.object(schema, depth_left),
            Some("string") => unbinding(Value::from("")),
            Some("integer" | "number") => unbinding(Value::from(0)),
            Some("boolean") => unbinding(Value::from(false)),
            Some("array") => unbinding(Value::Array(Vec::new())),
            // The type is `null` or unknown.
            Some(_) => unbinding(Value::Null),
            // With several equal alternatives, the approver chooses.
            None if schema.get("enum").is_some() => unbinding(Value::Null),
            None => self.object(schema, depth_left),
        }
    }

    fn object(&mut self, schema: &'s Value, depth_left: usize) -> PayloadForm {
        let required = schema.get("required").and_then(Value::as_array);
        let required: Vec<&str> = required
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let properties = schema.get("properties").and_then(Value::as_object);
        let (mut fields, mut unbinding_fields) = (Map::new(), BTreeSet::new());
        for (name, property) in properties.into_iter().flatten() {
            let is_required = required.contains(&name.as_str());
            if is_required || property.get("default").is_some() {
                let form = self.form(property, depth_left);
                if !form.is_binding() {
                    unbinding_fields.insert(name.clone());
                }
                fields.insert(name.clone(), form.payload);
            }
        }
        for name in required {
            if !fields.contains_key(name) {
                unbinding_fields.insert(name.to_owned());
                fields.insert(name.to_owned(), Value::Null);
            }
        }
        PayloadForm {
            payload: Value::Object(fields),
            is_binding: true,
            unbinding_fields,
        }
    }
}

/// Creates a form whose values are not binding, such as an example or a zero.
fn unbinding(payload: Value) -> PayloadForm {
    PayloadForm {
        payload,
        is_binding: false,
        unbinding_fields: BTreeSet::new(),
    }
}

/// Returns the value of an `enum` with exactly one value.
fn only(schema: &Value) -> Option<&Value> {
    match schema.get("enum")?.as_array()?.as_slice() {
        [only] => Some(only),
        [] | [_, _, ..] => None,
    }
}

/// Returns the type that a schema names, or the first listed type that is not `null`.
fn type_of(schema: &Value) -> Option<&str> {
    if schema.get("enum").is_some() {
        return None;
    }
    let named = schema.get("type")?;
    let types = named.as_array().into_iter().flatten();
    let mut types = types.filter_map(Value::as_str);
    named.as_str().or_else(|| types.find(|it| *it != "null"))
}

#[cfg(test)]
#[expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may fail"
)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form(schema: &Value) -> (Value, bool) {
        let form = PayloadForm::of(&Json::of(schema));
        let is_binding = form.is_binding();
        (form.payload, is_binding)
    }

    #[test]
    fn form_has_binding_values_examples_or_zeros() {
        let person = json!({"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string"}, "age": {"type": "integer"}, "vip": {"default": false},
        }});
        for (schema, payload, is_binding) in [
            (json!({"const": 4}), json!(4), true),
            (json!({"enum": ["yes"]}), json!("yes"), true),
            (
                json!({"type": "string", "enum": ["a", "b"]}),
                json!(null),
                false,
            ),
            (json!({"type": ["null", "integer"]}), json!(0), false),
            (json!({"type": "array"}), json!([]), false),
            (
                json!({"type": "number", "examples": [2.5]}),
                json!(2.5),
                false,
            ),
            (json!({"type": "object"}), json!({}), true),
            (json!({"required": ["x"]}), json!({"x": null}), false),
            (person.clone(), json!({"name": "", "vip": false}), false),
            (
                json!({"$ref": "#/$defs/p", "$defs": {"p": person.clone()}}),
                json!({"name": "", "vip": false}),
                false,
            ),
            (
                json!({"allOf": [person, {"properties": {"n": {"default": 1}}}]}),
                json!({"name": "", "vip": false, "n": 1}),
                false,
            ),
            (
                json!({"anyOf": [{"const": 1}, {"const": 2}]}),
                json!(1),
                false,
            ),
        ] {
            assert_eq!(form(&schema), (payload, is_binding), "{schema}");
        }
    }

    #[test]
    fn form_of_a_schema_without_end_ends() {
        let two = json!({"$ref": "#"});
        let endless = json!({"required": ["a", "b"], "properties": {"a": two, "b": two}});
        let (payload, is_binding) = form(&endless);
        assert!(payload["a"].is_object() && !is_binding);
    }
    /// A yes without a payload must not carry the `null` of a default that was not read.
    #[test]
    fn default_beyond_the_limit_is_not_binding() {
        let property = |it: usize| (format!("p{it}"), json!({"default": it}));
        let of = |count| {
            let properties: Map<String, Value> = (0..count).map(property).collect();
            form(&json!({"properties": properties}))
        };
        // The object is one of the schemas, too.
        let (payload, is_binding) = of(SCHEMAS_MAX - 1);
        assert!(is_binding && !payload.as_object().unwrap().values().any(Value::is_null));
        let (payload, is_binding) = of(SCHEMAS_MAX);
        assert!(!is_binding && payload.as_object().unwrap().values().any(Value::is_null));
    }

    #[test]
    fn part_of_all_of_keeps_binding_values() {
        let default = json!({"properties": {"n": {"default": 1}}});
        let number = json!({"required": ["n"], "properties": {"n": {"type": "integer"}}});
        let nothing = json!({"required": ["n"]});
        let constant = json!({"required": ["n"], "properties": {"n": {"const": null}}});
        let example = json!({"examples": [{"n": 5}]});
        for (parts, n, is_binding) in [
            ([&default, &nothing], json!(1), true),
            ([&nothing, &default], json!(1), true),
            ([&default, &number], json!(1), true),
            ([&number, &nothing], json!(0), false),
            ([&default, &example], json!(1), false),
            ([&number, &example], json!(5), false),
            ([&default, &constant], json!(null), true),
            ([&nothing, &nothing], json!(null), false),
        ] {
            let schema = json!({"allOf": parts});
            assert_eq!(form(&schema), (json!({"n": n}), is_binding), "{schema}");
        }
    }
}
