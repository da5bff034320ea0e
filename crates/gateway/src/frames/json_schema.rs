//! Conversion of the protocol's own schemas to JSON Schema.

use recount::live::wire::{Number, Schema, SchemaMap};
use serde_json::{Map, Value, json};

/// Converts a schema of the protocol, a subset of OpenAPI, to JSON Schema.
///
/// The result allows whatever the protocol's schema allows. A field that JSON Schema has no word
/// for, such as `propertyOrdering`, is left out.
pub(super) fn json_schema(schema: &Schema) -> Value {
    let mut words = Map::new();
    kind(schema, &mut words);
    let texts = [
        ("title", &schema.title),
        ("description", &schema.description),
        ("format", &schema.format),
        ("pattern", &schema.pattern),
    ];
    for (word, text) in texts {
        if let Some(text) = text {
            words.insert(word.to_owned(), json!(text));
        }
    }
    bounds(schema, &mut words);
    allowed(schema, &mut words);
    if let Some(items) = &schema.items {
        words.insert("items".to_owned(), json_schema(items));
    }
    for (word, schemas) in [("properties", &schema.properties), ("$defs", &schema.defs)] {
        if let Some(schemas) = schemas {
            words.insert(word.to_owned(), named(schemas));
        }
    }
    if !schema.required.is_empty() {
        words.insert("required".to_owned(), json!(*schema.required));
    }
    let choices: Vec<Value> = schema.any_of.iter().map(json_schema).collect();
    if !choices.is_empty() {
        words.insert("anyOf".to_owned(), Value::Array(choices));
    }
    if let Some(reference) = &schema.reference {
        let reference = reference.replacen("#/defs/", "#/$defs/", 1);
        words.insert("$ref".to_owned(), json!(reference));
    }
    if let Some(extra) = schema.other.get("additionalProperties") {
        additional(extra.as_str(), &mut words);
    }
    let values = [("default", &schema.default), ("example", &schema.example)];
    for (word, value) in values {
        let value = value.as_ref().and_then(|it| it.to::<Value>().ok());
        match (word, value) {
            (_, None) => {}
            ("example", Some(value)) => drop(words.insert("examples".to_owned(), json!([value]))),
            (word, Some(value)) => drop(words.insert(word.to_owned(), value)),
        }
    }
    Value::Object(words)
}

/// Writes the type in lower case. A type that JSON Schema does not know is left out.
fn kind(schema: &Schema, words: &mut Map<String, Value>) {
    const KINDS: [&str; 7] = [
        "string", "number", "integer", "boolean", "array", "object", "null",
    ];
    let kind = schema.kind.as_ref().map(|it| it.to_ascii_lowercase());
    let Some(kind) = kind.filter(|it| KINDS.contains(&it.as_str())) else {
        return;
    };
    let is_nullable = schema.nullable == Some(true) && kind != "null";
    let kind = if is_nullable {
        json!([kind, "null"])
    } else {
        json!(kind)
    };
    words.insert("type".to_owned(), kind);
}

fn bounds(schema: &Schema, words: &mut Map<String, Value>) {
    let bounds: [(&str, &Option<Number>); 8] = [
        ("minimum", &schema.minimum),
        ("maximum", &schema.maximum),
        ("minLength", &schema.min_length),
        ("maxLength", &schema.max_length),
        ("minItems", &schema.min_items),
        ("maxItems", &schema.max_items),
        ("minProperties", &schema.min_properties),
        ("maxProperties", &schema.max_properties),
    ];
    for (word, bound) in bounds {
        // A 64-bit integer may be written as a string, which JSON Schema does not allow.
        let bound = bound.as_ref().map(|it| match it.as_i64() {
            Some(whole) => json!(whole),
            None => json!(it.as_f64()),
        });
        if let Some(bound) = bound {
            words.insert(word.to_owned(), bound);
        }
    }
}

/// Writes the allowed values. The protocol writes them all as strings, so those of numbers and
/// booleans are converted.
fn allowed(schema: &Schema, words: &mut Map<String, Value>) {
    if schema.allowed.is_empty() {
        return;
    }
    let kind = schema.kind.as_deref().unwrap_or_default();
    let is_text = kind.is_empty() || kind.eq_ignore_ascii_case("string");
    let value = |text: &String| match serde_json::from_str::<Value>(text) {
        Ok(value) if !is_text => value,
        Ok(_) | Err(_) => json!(text),
    };
    let mut values: Vec<Value> = schema.allowed.iter().map(value).collect();
    if schema.nullable == Some(true) {
        values.push(Value::Null);
    }
    words.insert("enum".to_owned(), Value::Array(values));
}

fn named(schemas: &SchemaMap) -> Value {
    let each = schemas
        .iter()
        .map(|(name, it)| (name.to_owned(), json_schema(it)));
    Value::Object(each.collect())
}

fn additional(text: &str, words: &mut Map<String, Value>) {
    let schema = match text {
        "true" => json!(true),
        "false" => json!(false),
        text => match Schema::decode(text) {
            Ok(schema) => json_schema(&schema),
            Err(_) => return,
        },
    };
    words.insert("additionalProperties".to_owned(), schema);
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    fn converted(schema: &Value) -> Value {
        json_schema(&Schema::decode(&schema.to_string()).unwrap())
    }

    #[test]
    fn schema_of_the_protocol_becomes_json_schema() {
        let schema = json!({
            "type": "OBJECT",
            "properties": {
                "snake_key": {"type": "STRING", "enum": ["a", "1"], "maxLength": "3"},
                "level": {"type": "INTEGER", "enum": ["1", "2"], "nullable": true},
                "tags": {"type": "ARRAY", "items": {"type": "NUMBER", "minimum": 0.5},
                         "min_items": 1.0},
                "either": {"any_of": [{"type": "BOOLEAN"}, {"type": "NULL"}]},
                "node": {"ref": "#/defs/Node"},
                "odd": {"type": "TYPE_UNSPECIFIED", "example": {"type": "STRING"}},
            },
            "required": ["snake_key"],
            "propertyOrdering": ["tags"],
            "additional_properties": {"type": "STRING"},
            "defs": {"Node": {"type": "OBJECT", "additionalProperties": false}},
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "snake_key": {"type": "string", "enum": ["a", "1"], "maxLength": 3},
                "level": {"type": ["integer", "null"], "enum": [1, 2, null]},
                "tags": {"type": "array", "items": {"type": "number", "minimum": 0.5},
                         "minItems": 1},
                "either": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
                "node": {"$ref": "#/$defs/Node"},
                "odd": {"examples": [{"type": "STRING"}]},
            },
            "required": ["snake_key"],
            "additionalProperties": {"type": "string"},
            "$defs": {"Node": {"type": "object", "additionalProperties": false}},
        });
        assert_eq!(converted(&schema), expected);
    }

    #[test]
    fn words_for_people_are_kept() {
        let schema = json!({"type": "STRING", "title": "t", "description": "d", "format": "date",
                            "pattern": "^a$", "default": "a"});
        let expected = json!({"type": "string", "title": "t", "description": "d", "format": "date",
                              "pattern": "^a$", "default": "a"});
        assert_eq!(converted(&schema), expected);
        assert_eq!(converted(&json!({})), json!({}));
    }
}
