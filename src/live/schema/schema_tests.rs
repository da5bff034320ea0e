use schemars::JsonSchema;
use serde_json::{Map, json};

use super::*;

/// The derived schema as a tool declares it: with or without references.
fn derived<T: JsonSchema>(inline: bool) -> Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12();
    let settings = settings.with(|it| it.inline_subschemas = inline);
    settings.into_generator().into_root_schema_for::<T>().into()
}

/// True if the service knows each name in a lowered schema.
fn names_are_known(schema: &Value) -> bool {
    let Value::Object(fields) = schema else {
        return false;
    };
    fields.iter().all(|(name, value)| match name.as_str() {
        "properties" => value
            .as_object()
            .is_some_and(|it| it.values().all(names_are_known)),
        "anyOf" => {
            fields.len() == 1
                && value
                    .as_array()
                    .is_some_and(|it| it.iter().all(names_are_known))
        }
        "items" => names_are_known(value),
        "type" => KINDS.iter().any(|kind| value == kind),
        "enum" => value
            .as_array()
            .is_some_and(|it| it.iter().all(Value::is_string)),
        "format" | "title" | "description" | "nullable" | "minItems" | "maxItems" | "required"
        | "minProperties" | "maxProperties" | "minimum" | "maximum" | "minLength" | "maxLength"
        | "pattern" | "example" | "propertyOrdering" | "default" => true,
        _ => false,
    })
}

fn sent(schema: &Value) -> Value {
    let sent = lowered(schema).unwrap_or(Value::Null);
    assert!(sent.is_null() || names_are_known(&sent), "{sent:#}");
    if !sent.is_null() {
        assert_eq!(
            lowered(&sent),
            Some(sent.clone()),
            "lowering it again changes it"
        );
    }
    sent
}

/// Lowers the schema of a single argument.
fn argument(schema: Value) -> Value {
    let whole = json!({"type": "object", "properties": {"a": schema}});
    sent(&whole)
        .pointer("/properties/a")
        .cloned()
        .unwrap_or_default()
}

/// The way a parcel travels.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is looked at")]
enum Way {
    /// Over land
    Road,
    /// Over the sea
    Ship,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Address {
    street: String,
    /// As the country writes it
    #[schemars(length(min = 3, max = 10), regex(pattern = "^[0-9 ]+$"))]
    code: Option<String>,
}

#[derive(JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is looked at")]
enum Payment {
    Card { number: String },
    Invoice { address: Address, days: u8 },
}

/// Sends a parcel.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Parcel {
    /// The destination
    to: Address,
    /// The return address
    back: Option<Address>,
    way: Way,
    #[serde(default)]
    grams: u32,
    insured: Option<f64>,
    payment: Payment,
    labels: std::collections::BTreeMap<String, String>,
    corner: (f32, f32),
    note: Value,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Node {
    label: String,
    next: Option<Box<Node>>,
    children: Vec<Node>,
}

#[test]
fn a_derived_schema_is_lowered_whole() {
    let with_references = sent(&derived::<Parcel>(false));
    assert_eq!(with_references, sent(&derived::<Parcel>(true)));
    insta::assert_json_snapshot!(with_references);
}

#[test]
fn recursive_schema_is_cut_off() {
    insta::assert_json_snapshot!(sent(&derived::<Node>(false)));
}

#[test]
fn choice_of_arguments_becomes_one_object() {
    insta::assert_json_snapshot!(sent(&derived::<Payment>(true)));
}

#[test]
fn expressible_keywords_are_kept() {
    let cases = [
        (
            "types",
            json!({"type": ["string", "integer", "null"], "minimum": 1, "minLength": 2}),
        ),
        (
            "nullable",
            json!({"type": ["number", "null"], "format": "double", "description": "d"}),
        ),
        ("constant", json!({"const": "a", "title": "t"})),
        (
            "one of",
            json!({"oneOf": [{"const": "a", "description": "first"}, {"type": "integer"},
                {"type": "null"}], "description": "d"}),
        ),
        (
            "numbers to choose from",
            json!({"type": "integer", "enum": [1, 2, null], "description": "How many."}),
        ),
        ("strings to choose from", json!({"enum": ["a", "b", null]})),
        (
            "formats",
            json!({"type": "object", "properties": {
                "when": {"type": "string", "format": "date-time"}, "who": {"type": "string",
                "format": "uuid"},
                "many": {"type": "integer", "format": "uint64", "minimum": 0},
                "some": {"type": "integer", "format": "int64"},
            }}),
        ),
        (
            "all of",
            json!({"allOf": [
                {"properties": {"x": {"type": "string"}}, "required": ["x"]},
                {"properties": {"y": {"type": "string"}}, "required": ["y"]},
            ]}),
        ),
        (
            "beside a choice",
            json!({"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"],
            "anyOf": [{"properties": {"y": {"type": "string"}}, "required": ["y"]},
            {"properties": {"z": {"type": "boolean"}}}]}),
        ),
        (
            "tuple",
            json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"},
                {"type": "string"}], "items": false, "minItems": 3}),
        ),
        ("anything", json!(true)),
        (
            "unknown words",
            json!({"type": "string", "$comment": "c", "x-internal": 1, "examples": ["a"],
                "exclusiveMinimum": 3,
            "not": {"const": "b"}, "if": {}, "contentEncoding": "base64", "deprecated": true}),
        ),
        (
            "impossible member",
            json!({"properties": {"never": false, "x": {"type": "string"}}, "required": ["never",
                "x"], "additionalProperties": false}),
        ),
        (
            "a property named like a keyword",
            json!({"properties": {"$ref": {"type": "string"}, "enum": {"type": "number"}}}),
        ),
        (
            "dangling reference",
            json!({"$ref": "#/$defs/none", "description": "d"}),
        ),
        (
            "the form itself",
            json!({"type": "ARRAY", "nullable": true, "items": {"type": "STRING", "format": "enum",
                "enum": ["a"]}, "minItems": "1"}),
        ),
    ];
    let lowered: Map<_, _> = cases
        .into_iter()
        .map(|(name, schema)| (name.to_owned(), argument(schema)))
        .collect();
    insta::assert_json_snapshot!(lowered);
}

#[test]
fn no_arguments_give_no_schema() {
    for schema in [
        json!({"type": "object"}),
        json!({"type": "object", "properties": {}}),
        json!(true),
        json!({}),
    ] {
        assert_eq!(lowered(&schema), None, "{schema}");
    }
}

#[test]
fn references_that_multiply_come_to_an_end() {
    let mut defs = Map::new();
    for level in 0..40 {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        defs.insert(
            format!("d{level}"),
            json!({"properties": {"a": next, "b": next}}),
        );
    }
    let schema = json!({"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": defs});
    let size = sent(&schema).to_string().len();
    assert!(size < 200_000, "{size}");
}
