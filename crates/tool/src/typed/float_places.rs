//! A second check of numbers, by the schema, for types that serde reads through a buffer.
//!
//! For `flatten`, `untagged` and `tag = ".."` serde buffers the members with whole numbers of 64
//! bits. A float field then takes them from the buffer, rounded, without using this crate's reader.
//! The schema still shows which places are floats.

use recount_session::Json;
use serde_json::Value;

use super::decimal::{kept_by_f32, kept_by_f64};
use super::misfit::Misfit;
use super::reader::{Kind, Reader};

/// Rejects the first number that changes as a single-precision float, at a place with only such
/// floats in the schema.
pub(crate) fn check(schema: &Value, args: &Json) -> Result<(), Misfit> {
    let mut suspects = Vec::new();
    collect(Reader::of(args.as_str()), &mut Vec::new(), &mut suspects)?;
    for (steps, token) in suspects {
        let schemas = steps
            .iter()
            .fold(opened(schema, vec![schema]), |schemas, step| {
                opened(
                    schema,
                    schemas.iter().flat_map(|it| inside(it, step)).collect(),
                )
            });
        let says = |keyword: &str, word: &str| {
            schemas.iter().any(|it| match it.get(keyword) {
                Some(Value::String(said)) => said == word,
                Some(Value::Array(said)) => said.iter().any(|it| it == word),
                _ => false,
            })
        };
        let lost =
            says("format", "float") || says("format", "double") && kept_by_f64(token).is_none();
        if lost && !says("type", "integer") {
            let place = steps
                .iter()
                .rev()
                .fold(Misfit::digits(token), |it, step| it.under(step));
            return Err(place);
        }
    }
    Ok(())
}

/// Collects the numbers that change as single-precision floats, with their paths.
fn collect<'a>(
    value: Reader<'a>,
    steps: &mut Vec<String>,
    found: &mut Vec<(Vec<String>, &'a str)>,
) -> Result<(), Misfit> {
    match value.kind() {
        Kind::Object => {
            for (key, member) in value.members()? {
                steps.push(key.string()?);
                collect(member, steps, found)?;
                steps.pop();
            }
        }
        Kind::Array => {
            for (index, item) in value.items()?.into_iter().enumerate() {
                steps.push(index.to_string());
                collect(item, steps, found)?;
                steps.pop();
            }
        }
        Kind::Number => {
            let token = value.number().unwrap_or_default();
            if kept_by_f32(token).is_none() {
                found.push((steps.clone(), token));
            }
        }
        Kind::String | Kind::Boolean | Kind::Null => {}
    }
    Ok(())
}

/// Returns the schemas together with those that they refer to or combine.
fn opened<'s>(root: &'s Value, schemas: Vec<&'s Value>) -> Vec<&'s Value> {
    let mut all: Vec<&Value> = Vec::new();
    let mut left = schemas;
    while let Some(schema) = left.pop() {
        if all.iter().any(|it| std::ptr::eq(*it, schema)) {
            continue;
        }
        all.push(schema);
        for keyword in ["allOf", "anyOf", "oneOf"] {
            left.extend(
                schema
                    .get(keyword)
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten(),
            );
        }
        let pointer = schema.get("$ref").and_then(Value::as_str);
        left.extend(pointer.and_then(|it| root.pointer(it.strip_prefix('#')?)));
    }
    all
}

/// Returns the schemas for a member or an item of a value.
fn inside<'s>(schema: &'s Value, step: &str) -> Vec<&'s Value> {
    let named = schema.get("properties").and_then(|it| it.get(step));
    let index = step.parse::<usize>().ok();
    let placed = index.and_then(|index| schema.get("prefixItems")?.get(index));
    let others = ["additionalProperties", "unevaluatedProperties", "items"];
    match named.or(placed) {
        Some(one) => vec![one],
        None => {
            let by_name = schema.get("patternProperties").and_then(Value::as_object);
            let by_name = by_name.into_iter().flat_map(|it| it.values());
            others
                .iter()
                .filter_map(|it| schema.get(it))
                .chain(by_name)
                .collect()
        }
    }
}
