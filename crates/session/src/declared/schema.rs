//! The positions of schemas inside a JSON Schema.
//!
//! They tell a keyword from a *property named* like one.

use serde_json::{Map, Value};

/// Applies `change` to the keywords of a schema and of every schema inside it, innermost first.
///
/// Values that are data (`enum`, `const`, `required`, unknown keywords) are not changed.
pub fn map_schema(
    schema: &Value,
    change: &dyn Fn(Map<String, Value>) -> Map<String, Value>,
) -> Value {
    let Value::Object(keywords) = schema else {
        return schema.clone();
    };
    let inner = map_inner_schemas(keywords, &mut |inner| map_schema(inner, change));
    Value::Object(change(inner))
}

/// Returns the keywords of a schema, with `map` applied to each schema directly inside it.
pub fn map_inner_schemas(
    keywords: &Map<String, Value>,
    map: &mut dyn FnMut(&Value) -> Value,
) -> Map<String, Value> {
    let mapped = keywords.iter().map(|(keyword, value)| {
        let value = match (Position::of(keyword), value) {
            (Position::Schema | Position::Schemas, Value::Array(items)) => {
                Value::Array(items.iter().map(&mut *map).collect())
            }
            (Position::Schema, _) => map(value),
            (Position::NamedSchemas, Value::Object(named)) => {
                let named = named.iter();
                Value::Object(named.map(|(name, it)| (name.clone(), map(it))).collect())
            }
            (Position::Schemas | Position::NamedSchemas | Position::Data, _) => value.clone(),
        };
        (keyword.clone(), value)
    });
    mapped.collect()
}

/// The kind of value that a keyword has.
pub enum Position {
    /// A schema. In older drafts, `items` may also be a list of schemas.
    Schema,
    /// A list of schemas.
    Schemas,
    /// Schemas by names that the author chose.
    NamedSchemas,
    /// Not a schema.
    Data,
}

impl Position {
    pub fn of(keyword: &str) -> Self {
        match keyword {
            "items"
            | "additionalItems"
            | "additionalProperties"
            | "unevaluatedItems"
            | "unevaluatedProperties"
            | "contains"
            | "contentSchema"
            | "propertyNames"
            | "not"
            | "if"
            | "then"
            | "else" => Self::Schema,
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => Self::Schemas,
            "properties" | "patternProperties" | "$defs" | "definitions" | "defs"
            | "dependentSchemas" | "dependencies" => Self::NamedSchemas,
            _ => Self::Data,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_schema_position_is_visited_and_data_is_not() {
        let marked = map_schema(
            &json!({
                "properties": {"title": {"type": "string"}, "enum": {"items": [{}, {}]}},
                "$defs": {"a": {"not": {}}},
                "anyOf": [{"additionalProperties": {}}, true],
                "enum": [{"type": "data"}],
                "const": {"properties": {"x": {}}},
            }),
            &|mut keywords| {
                keywords.insert("seen".to_owned(), Value::Bool(true));
                keywords
            },
        );
        assert_eq!(
            marked,
            json!({
                "seen": true,
                "properties": {
                    "title": {"type": "string", "seen": true},
                    "enum": {"seen": true, "items": [{"seen": true}, {"seen": true}]},
                },
                "$defs": {"a": {"seen": true, "not": {"seen": true}}},
                "anyOf": [{"seen": true, "additionalProperties": {"seen": true}}, true],
                "enum": [{"type": "data"}],
                "const": {"properties": {"x": {}}},
            })
        );
    }
}
