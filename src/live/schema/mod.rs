//! Conversion of a tool's JSON Schema to the protocol's own, smaller schema.
//!
//! The service closes the connection for an unknown field, so the result contains only known
//! fields. Constraints that these cannot express are omitted. The model may know less than the
//! schema, but nothing false. Arguments are always checked against the whole schema.

mod fields;
mod json_schema;

use serde_json::{Value, json};

use self::fields::{Fields, any_of, anything, copy_words, cut_off, make_nullable, object};
pub(crate) use self::json_schema::json_schema;
use super::Capabilities;

/// The form in which the schemas of tools are declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SchemaForm {
    /// JSON Schema in `parametersJsonSchema`, without the keywords that the service rejects; see
    /// [`json_schema`].
    JsonSchema,
    /// The protocol's own `Schema`, in `parameters`.
    ///
    /// Types are in capitals, references are inlined, `const` becomes an `enum` of one, `oneOf`
    /// becomes `anyOf`, and unknown keywords are omitted. A recursive reference becomes an object
    /// without further constraints.
    Subset,
}

impl SchemaForm {
    /// Returns the form that a model accepts.
    pub(crate) fn of(capabilities: Capabilities) -> SchemaForm {
        if capabilities.json_schema {
            SchemaForm::JsonSchema
        } else {
            SchemaForm::Subset
        }
    }
}

/// Converts the schema of a tool's arguments to the protocol's own form. `None` if there are no
/// arguments.
pub(crate) fn lowered(schema: &Value) -> Option<Value> {
    let mut lowering = Lowering {
        root: schema,
        inside: Vec::new(),
        left: SCHEMAS_MAX,
    };
    let parameters = object(lowering.schema(schema));
    let named = parameters.get("properties").and_then(Value::as_object);
    let speaks = named.is_some_and(|it| !it.is_empty());
    speaks.then_some(Value::Object(parameters))
}

struct Lowering<'s> {
    root: &'s Value,
    /// The references that are being followed.
    inside: Vec<String>,
    /// The number of schemas left to write. Without the limit, references could multiply without
    /// end.
    left: usize,
}

impl Lowering<'_> {
    fn schema(&mut self, schema: &Value) -> Fields {
        let Some(keywords) = schema.as_object() else {
            return anything();
        };
        let Some(left) = self.left.checked_sub(1) else {
            return cut_off();
        };
        self.left = left;
        let mut followed = Vec::new();
        let Some(joined) = self.joined(keywords, &mut followed) else {
            let mut cut = cut_off();
            copy_words(keywords, &mut cut);
            return cut;
        };
        let outside = self.inside.len();
        self.inside.append(&mut followed);
        let lowered = self.keywords(&joined);
        self.inside.truncate(outside);
        lowered
    }

    /// Merges the keywords with those of their reference and of `allOf`. `None` for a recursive
    /// reference.
    fn joined(&self, keywords: &Fields, followed: &mut Vec<String>) -> Option<Fields> {
        let mut joined = keywords.clone();
        let parts = joined.remove("allOf");
        // Keywords beside a reference are more specific and take precedence.
        if let Some(Value::String(pointer)) = joined.remove("$ref") {
            let deep = self.inside.len() + followed.len() >= REFERENCES_MAX;
            if deep || self.inside.contains(&pointer) || followed.contains(&pointer) {
                return None;
            }
            let target = self.root.pointer(pointer.strip_prefix('#')?)?;
            followed.push(pointer);
            let target = self.joined(target.as_object()?, followed)?;
            add(target, &mut joined);
        }
        for part in parts
            .as_ref()
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            if let Some(part) = part.as_object().and_then(|it| self.joined(it, followed)) {
                add(part, &mut joined);
            }
        }
        Some(joined)
    }

    fn keywords(&mut self, keywords: &Fields) -> Fields {
        let branches = ["anyOf", "oneOf"]
            .iter()
            .find_map(|it| keywords.get(*it)?.as_array());
        if let Some(branches) = branches {
            let mut beside = keywords.clone();
            beside.retain(|keyword, _| keyword != "anyOf" && keyword != "oneOf");
            return self.branches(branches, &beside);
        }
        let (types, nullable) = types(keywords);
        let mut fields = match types.as_slice() {
            [] => anything(),
            [kind] => self.typed(kind, keywords),
            several => {
                let typed = several.iter().map(|kind| self.typed(kind, keywords));
                any_of(typed.collect())
            }
        };
        if nullable {
            make_nullable(&mut fields);
        }
        fields
    }

    /// Converts a choice. The keywords beside it are merged into each branch, because the protocol
    /// allows no field beside `anyOf`.
    fn branches(&mut self, branches: &[Value], beside: &Fields) -> Fields {
        let mut nullable = beside.get("nullable") == Some(&Value::Bool(true));
        let only_words = beside.keys().all(|it| WORDS.contains(&it.as_str()));
        let mut lowered = Vec::new();
        for branch in branches {
            if is_null(branch) {
                nullable = true;
            } else if branch != &Value::Bool(false) {
                lowered.push(if only_words {
                    self.schema(branch)
                } else {
                    self.schema(&json!({"allOf": [branch, beside]}))
                });
            }
        }
        let mut fields = any_of(lowered);
        copy_words(beside, &mut fields);
        if nullable {
            make_nullable(&mut fields);
        }
        fields
    }

    fn typed(&mut self, kind: &str, keywords: &Fields) -> Fields {
        let mut fields = Fields::new();
        fields.insert("type".to_owned(), kind.into());
        copy_words(keywords, &mut fields);
        if let Some(default) = keywords.get("default") {
            fields.insert("default".to_owned(), default.clone());
        }
        if let Some(example) = keywords.get("example") {
            fields.insert("example".to_owned(), example.clone());
        }
        let format = keywords.get("format").and_then(Value::as_str);
        if let Some(format) = format.filter(|it| FORMATS.contains(&(kind, it))) {
            fields.insert("format".to_owned(), format.into());
        }
        for (of, bound, is_count) in BOUNDS {
            let value = keywords.get(bound).filter(|_| of.contains(&kind));
            if let Some(value) =
                value.filter(|it| if is_count { counts(it) } else { it.is_number() })
            {
                fields.insert(bound.to_owned(), value.clone());
            }
        }
        match kind {
            "STRING" => {
                if let Some(pattern) = keywords.get("pattern").filter(|it| it.is_string()) {
                    fields.insert("pattern".to_owned(), pattern.clone());
                }
            }
            "ARRAY" => drop(fields.insert("items".to_owned(), self.items(keywords).into())),
            "OBJECT" => self.members(keywords, &mut fields),
            _ => {}
        }
        choices(keywords, kind, &mut fields);
        fields
    }

    fn items(&mut self, keywords: &Fields) -> Fields {
        let listed = |keyword: &str| keywords.get(keyword).and_then(Value::as_array);
        // The protocol has no schema per position, so each item may have any of the schemas.
        let Some(places) = listed("prefixItems").or_else(|| listed("items")) else {
            return keywords
                .get("items")
                .map_or_else(anything, |items| self.schema(items));
        };
        any_of(places.iter().map(|place| self.schema(place)).collect())
    }

    fn members(&mut self, keywords: &Fields, fields: &mut Fields) {
        let named = keywords.get("properties").and_then(Value::as_object);
        let mut members = Fields::new();
        for (name, schema) in named.into_iter().flatten() {
            if schema != &Value::Bool(false) {
                members.insert(name.clone(), self.schema(schema).into());
            }
        }
        for list in ["required", "propertyOrdering"] {
            let mut names = Vec::new();
            for name in keywords
                .get(list)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                let known = name.as_str().is_some_and(|it| members.contains_key(it));
                if known && !names.contains(name) {
                    names.push(name.clone());
                }
            }
            if !names.is_empty() {
                fields.insert(list.to_owned(), Value::Array(names));
            }
        }
        if !members.is_empty() {
            fields.insert("properties".to_owned(), Value::Object(members));
        }
    }
}

/// Adds keywords that are missing. Members and `required` lists are merged.
fn add(keywords: Fields, to: &mut Fields) {
    for (keyword, value) in keywords {
        match (to.get_mut(&keyword), value) {
            (Some(Value::Object(here)), Value::Object(there)) => {
                for (name, schema) in there {
                    here.entry(name).or_insert(schema);
                }
            }
            (Some(Value::Array(here)), Value::Array(there)) if keyword == "required" => {
                here.extend(there);
            }
            (Some(_), _) => {}
            (None, value) => drop(to.insert(keyword, value)),
        }
    }
}

/// Returns the types in capitals without null, and true if null is one of them.
fn types(keywords: &Fields) -> (Vec<&'static str>, bool) {
    let mut nullable = keywords.get("nullable") == Some(&Value::Bool(true));
    let mut types = Vec::new();
    let listed = match keywords.get("type") {
        Some(Value::Array(names)) => names.as_slice(),
        Some(name) => std::slice::from_ref(name),
        None => &[],
    };
    for name in listed.iter().filter_map(Value::as_str) {
        match KINDS.iter().find(|kind| kind.eq_ignore_ascii_case(name)) {
            Some(&"NULL") if listed.len() > 1 => nullable = true,
            Some(kind) => types.push(*kind),
            None => {}
        }
    }
    if types.is_empty() {
        types.extend(implied(keywords));
    }
    (types, nullable)
}

/// Infers the type of a schema that names none.
fn implied(keywords: &Fields) -> Option<&'static str> {
    let has = |names: &[&str]| names.iter().any(|name| keywords.contains_key(*name));
    let constant = keywords.get("const");
    let listed = keywords.get("enum").and_then(Value::as_array);
    let mut chosen = listed.into_iter().flatten().chain(constant);
    if has(&[
        "properties",
        "required",
        "additionalProperties",
        "patternProperties",
    ]) {
        Some("OBJECT")
    } else if has(&["items", "prefixItems", "minItems", "maxItems"]) {
        Some("ARRAY")
    } else if has(&["pattern", "minLength", "maxLength"]) {
        Some("STRING")
    } else if has(&["minimum", "maximum", "multipleOf"]) {
        Some("NUMBER")
    } else {
        chosen.find_map(|value| match value {
            Value::String(_) => Some("STRING"),
            Value::Number(number) if number.is_f64() => Some("NUMBER"),
            Value::Number(_) => Some("INTEGER"),
            Value::Bool(_) => Some("BOOLEAN"),
            Value::Array(_) => Some("ARRAY"),
            Value::Object(_) => Some("OBJECT"),
            Value::Null => None,
        })
    }
}

/// Adds the allowed values. The service accepts enums of strings only, so other values are listed
/// in the description.
fn choices(keywords: &Fields, kind: &str, fields: &mut Fields) {
    let constant = keywords.get("const").map(std::slice::from_ref);
    let listed = keywords.get("enum").and_then(Value::as_array);
    let Some(values) = constant.or(listed.map(Vec::as_slice)) else {
        return;
    };
    if values.contains(&Value::Null) {
        make_nullable(fields);
    }
    let values: Vec<_> = values.iter().filter(|it| !it.is_null()).collect();
    if values.is_empty() {
        return;
    }
    if kind == "STRING" {
        let strings = values.into_iter().filter(|it| it.is_string()).cloned();
        fields.insert("enum".to_owned(), strings.collect());
        return;
    }
    let words: Vec<_> = values.iter().map(|it| it.to_string()).collect();
    let said = fields.get("description").and_then(Value::as_str);
    let words = format!("{} One of {}.", said.unwrap_or_default(), words.join(", "));
    fields.insert("description".to_owned(), words.trim_start().into());
}

fn is_null(schema: &Value) -> bool {
    let says = |keyword: &str, value: Value| schema.get(keyword) == Some(&value);
    says("type", "null".into()) || says("type", "NULL".into()) || says("const", Value::Null)
}

/// True if the value is a count, which the protocol also writes as a string.
fn counts(value: &Value) -> bool {
    value.is_u64()
        || value
            .as_str()
            .is_some_and(|text| text.parse::<u64>().is_ok())
}

const KINDS: [&str; 7] = [
    "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL",
];

/// The formats that the service knows, by type.
const FORMATS: [(&str, &str); 6] = [
    ("INTEGER", "int32"),
    ("INTEGER", "int64"),
    ("NUMBER", "float"),
    ("NUMBER", "double"),
    ("STRING", "date-time"),
    ("STRING", "enum"),
];

/// The bounds by type. The flag is true for counts.
const BOUNDS: [(&[&str], &str, bool); 8] = [
    (&["NUMBER", "INTEGER"], "minimum", false),
    (&["NUMBER", "INTEGER"], "maximum", false),
    (&["STRING"], "minLength", true),
    (&["STRING"], "maxLength", true),
    (&["ARRAY"], "minItems", true),
    (&["ARRAY"], "maxItems", true),
    (&["OBJECT"], "minProperties", true),
    (&["OBJECT"], "maxProperties", true),
];

const SCHEMAS_MAX: usize = 2_000;
const REFERENCES_MAX: usize = 64;

/// Keywords that may stand beside a choice without becoming part of its branches.
const WORDS: [&str; 5] = ["title", "description", "default", "nullable", "$defs"];

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
