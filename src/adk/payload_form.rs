//! The payload that a card offers: a value of the shape that the request's schema asks for.

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
    /// True if the author of the schema wrote each value in it.
    by_author: bool,
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
            left: SCHEMAS_MAX,
        };
        reader.form(&root, DEPTH_MAX)
    }

    /// Returns the payload as a card shows it, or `None` if the schema does not define a shape.
    pub(crate) fn shown(&self) -> Option<Json> {
        (!self.payload.is_null()).then(|| Json::of(&self.payload))
    }

    /// Returns the payload that a yes without a payload implies: one that the schema's author
    /// wrote.
    pub(crate) fn by_author(self) -> Option<Value> {
        (self.by_author && !self.payload.is_null()).then_some(self.payload)
    }
}

struct Reader<'s> {
    root: &'s Value,
    left: usize,
}

impl<'s> Reader<'s> {
    fn form(&mut self, schema: &'s Value, depth: usize) -> PayloadForm {
        let within = depth.checked_sub(1);
        let left = self.left.checked_sub(1);
        let (Some(within), Some(left)) = (within, left) else {
            return zero(Value::Null);
        };
        self.left = left;
        let written = schema.get("const").or_else(|| schema.get("default"));
        if let Some(written) = written.or_else(|| only(schema)) {
            return PayloadForm {
                payload: written.clone(),
                by_author: true,
            };
        }
        if let Some(example) = schema.pointer("/examples/0") {
            return zero(example.clone());
        }
        if let Some(to) = schema.get("$ref").and_then(Value::as_str) {
            let found = to.strip_prefix('#').and_then(|it| self.root.pointer(it));
            return found.map_or_else(|| zero(Value::Null), |it| self.form(it, within));
        }
        if let Some(all) = schema.get("allOf").and_then(Value::as_array) {
            return self.all(schema, all, within);
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(first) = schema.get(key).and_then(|it| it.get(0)) {
                // The schema does not say which of the alternatives is meant.
                return zero(self.form(first, within).payload);
            }
        }
        self.of_type(schema, within)
    }

    /// Merges the objects that fit each of several schemas.
    fn all(&mut self, schema: &'s Value, all: &'s [Value], depth: usize) -> PayloadForm {
        let mut whole = self.of_type(schema, depth);
        for one in all {
            let form = self.form(one, depth);
            whole.by_author &= form.by_author;
            match (&mut whole.payload, form.payload) {
                (Value::Object(fields), Value::Object(more)) => fields.extend(more),
                (Value::Object(fields), other) if fields.is_empty() => whole.payload = other,
                (_, _) => {}
            }
        }
        whole
    }

    fn of_type(&mut self, schema: &'s Value, depth: usize) -> PayloadForm {
        match type_of(schema) {
            Some("object") => self.object(schema, depth),
            Some("string") => zero(Value::from("")),
            Some("integer" | "number") => zero(Value::from(0)),
            Some("boolean") => zero(Value::from(false)),
            Some("array") => zero(Value::Array(Vec::new())),
            // With several equal alternatives, the approver chooses.
            Some(_) => zero(Value::Null),
            None if schema.get("enum").is_some() => zero(Value::Null),
            None => self.object(schema, depth),
        }
    }

    fn object(&mut self, schema: &'s Value, depth: usize) -> PayloadForm {
        let required = schema.get("required").and_then(Value::as_array);
        let required: Vec<&str> = required
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let properties = schema.get("properties").and_then(Value::as_object);
        let (mut fields, mut by_author) = (Map::new(), true);
        for (name, property) in properties.into_iter().flatten() {
            let is_required = required.contains(&name.as_str());
            if is_required || property.get("default").is_some() {
                let form = self.form(property, depth);
                by_author &= form.by_author || !is_required;
                fields.insert(name.clone(), form.payload);
            }
        }
        for name in required {
            if !fields.contains_key(name) {
                by_author = false;
                fields.insert(name.to_owned(), Value::Null);
            }
        }
        PayloadForm {
            payload: Value::Object(fields),
            by_author,
        }
    }
}

/// A form whose value does not come from the author of the schema.
fn zero(payload: Value) -> PayloadForm {
    PayloadForm {
        payload,
        by_author: false,
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
    let several = named.as_array().into_iter().flatten();
    let mut several = several.filter_map(Value::as_str);
    named.as_str().or_else(|| several.find(|it| *it != "null"))
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "a test may fail")]
mod tests {
    use serde_json::json;

    use super::*;

    fn form(schema: &Value) -> (Value, bool) {
        let form = PayloadForm::of(&Json::of(schema));
        (form.payload, form.by_author)
    }

    #[test]
    fn form_has_what_the_author_wrote_or_zeros() {
        let person = json!({"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string"}, "age": {"type": "integer"}, "vip": {"default": false},
        }});
        for (schema, payload, by_author) in [
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
            assert_eq!(form(&schema), (payload, by_author), "{schema}");
        }
    }

    #[test]
    fn form_of_a_schema_without_end_ends() {
        let two = json!({"$ref": "#"});
        let endless = json!({"required": ["a", "b"], "properties": {"a": two, "b": two}});
        let (payload, by_author) = form(&endless);
        assert!(payload["a"].is_object() && !by_author);
    }
}
