//! Building blocks for schemas in the protocol's own form: choices, titles, null.

use serde_json::{Map, Value, json};

/// The fields of one schema in the protocol's own form.
pub(super) type Fields = Map<String, Value>;

/// Copies the title and the description.
pub(super) fn copy_words(keywords: &Fields, fields: &mut Fields) {
    // `anyOf` allows no other field beside it, so the description goes into its branches.
    if let Some(Value::Array(branches)) = fields.get_mut("anyOf") {
        for branch in branches.iter_mut().filter_map(Value::as_object_mut) {
            let mut described = keywords.clone();
            described.retain(|word, _| !branch.contains_key(word));
            copy_words(&described, branch);
        }
        return;
    }
    for word in ["title", "description"] {
        if let Some(text) = keywords.get(word).filter(|it| it.is_string()) {
            fields.insert(word.to_owned(), text.clone());
        }
    }
}

/// Makes the schema accept null.
pub(super) fn make_nullable(fields: &mut Fields) {
    match fields.get_mut("anyOf") {
        Some(Value::Array(branches)) => {
            let branches = branches.iter_mut().filter_map(Value::as_object_mut);
            branches.for_each(make_nullable);
        }
        _ => drop(fields.insert("nullable".to_owned(), true.into())),
    }
}

/// Combines branches as a choice, without duplicates and without a choice of one.
pub(super) fn any_of(branches: Vec<Fields>) -> Fields {
    let mut all: Vec<Value> = Vec::new();
    for mut branch in branches {
        let inner = match branch.remove("anyOf") {
            Some(Value::Array(inner)) => inner,
            _ => vec![Value::Object(branch)],
        };
        for branch in inner {
            if !all.contains(&branch) {
                all.push(branch);
            }
        }
    }
    match <[Value; 1]>::try_from(all) {
        Ok([Value::Object(one)]) => one,
        Ok([_]) => anything(),
        Err(none) if none.is_empty() => anything(),
        Err(all) => Fields::from_iter([("anyOf".to_owned(), Value::Array(all))]),
    }
}

/// Merges the branches of a choice into one object, because arguments must be an object.
pub(super) fn object(mut fields: Fields) -> Fields {
    let Some(Value::Array(branches)) = fields.remove("anyOf") else {
        return fields;
    };
    let mut members = Fields::new();
    let mut required: Option<Vec<Value>> = None;
    for branch in &branches {
        let named = branch.get("properties").and_then(Value::as_object);
        for (name, schema) in named.into_iter().flatten() {
            let seen = members.remove(name).into_iter();
            let both = seen.chain([schema.clone()]).filter_map(|it| match it {
                Value::Object(fields) => Some(fields),
                _ => None,
            });
            members.insert(name.clone(), one_enum(any_of(both.collect())).into());
        }
        let names = branch.get("required").and_then(Value::as_array);
        let names = names.cloned().unwrap_or_default();
        match &mut required {
            Some(required) => required.retain(|it| names.contains(it)),
            None => required = Some(names),
        }
    }
    let mut fields = Fields::new();
    fields.insert("type".to_owned(), "OBJECT".into());
    fields.insert("properties".to_owned(), Value::Object(members));
    if let Some(required) = required.filter(|it| !it.is_empty()) {
        fields.insert("required".to_owned(), Value::Array(required));
    }
    fields
}

/// Merges a choice between enums of strings into one enum, for example the tags of variants.
fn one_enum(fields: Fields) -> Fields {
    let Some(Value::Array(branches)) = fields.get("anyOf") else {
        return fields;
    };
    let mut values: Vec<Value> = Vec::new();
    for branch in branches {
        let plain = branch.as_object().is_some_and(|it| it.len() == 2);
        match branch.get("enum").and_then(Value::as_array) {
            Some(listed) if plain => values.extend(listed.iter().cloned()),
            _ => return fields,
        }
    }
    Fields::from_iter([
        ("type".to_owned(), "STRING".into()),
        ("enum".to_owned(), Value::Array(values)),
    ])
}

/// A schema for almost any value. The service rejects a schema without a type and an array without
/// items.
pub(super) fn anything() -> Fields {
    let kinds = ["STRING", "NUMBER", "BOOLEAN", "OBJECT"].map(|kind| json!({"type": kind}));
    Fields::from_iter([("anyOf".to_owned(), Value::Array(kinds.into()))])
}

/// A schema for an object with unknown members.
pub(super) fn cut_off() -> Fields {
    Fields::from_iter([("type".to_owned(), "OBJECT".into())])
}
