//! Schemas of the protocol's own form, put together: choices, words, null.

use serde_json::{Map, Value, json};

/// The fields of one schema in the protocol's own form.
pub(super) type Fields = Map<String, Value>;

/// Says of a schema what its place is called and described as.
pub(super) fn copy_words(keywords: &Fields, fields: &mut Fields) {
    // Beside `anyOf` nothing else may stand, so its branches are described instead.
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

/// Lets it be null, too.
pub(super) fn make_nullable(fields: &mut Fields) {
    match fields.get_mut("anyOf") {
        Some(Value::Array(branches)) => {
            let branches = branches.iter_mut().filter_map(Value::as_object_mut);
            branches.for_each(make_nullable);
        }
        _ => drop(fields.insert("nullable".to_owned(), true.into())),
    }
}

/// One of these, without what says nothing more: repetitions, and a choice between one.
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

/// One object that takes what any of the branches takes: arguments are an object, and not a choice.
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

/// A choice between lists of strings as one list, such as of the tags of several variants.
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

/// Any value, as far as it can be said: a schema without a type is refused, and a list without
/// items, too.
pub(super) fn anything() -> Fields {
    let kinds = ["STRING", "NUMBER", "BOOLEAN", "OBJECT"].map(|kind| json!({"type": kind}));
    Fields::from_iter([("anyOf".to_owned(), Value::Array(kinds.into()))])
}

/// An object of which nothing is said.
pub(super) fn cut_off() -> Fields {
    Fields::from_iter([("type".to_owned(), "OBJECT".into())])
}
