//! References to anchors of the same schema, replaced by JSON Pointers.

use std::collections::BTreeMap;

use recount_session::schema::map_schema;
use recount_text::json::escaped;
use serde_json::Value;

/// Replaces each `#name` that refers to an `$anchor` in the schema by a JSON Pointer. The schema
/// stays unchanged if that is ambiguous: an inner schema has its own address, or two share one
/// name.
pub(super) fn resolved(schema: Value) -> Value {
    let mut found = BTreeMap::new();
    if !gather(&schema, &mut found) || found.is_empty() {
        return schema;
    }
    map_schema(&schema, &|mut keywords| {
        let to = keywords.get("$ref").and_then(Value::as_str);
        let name = to.and_then(|to| to.strip_prefix('#'));
        if let Some(pointer) = name.and_then(|name| found.get(name)) {
            keywords.insert("$ref".to_owned(), format!("#{pointer}").into());
        }
        keywords
    })
}

/// Collects the place of each anchor; false if that is ambiguous.
fn gather(root: &Value, found: &mut BTreeMap<String, String>) -> bool {
    let mut open = vec![(root, String::new())];
    while let Some((value, at)) = open.pop() {
        match value {
            Value::Object(fields) => {
                if fields.get("$id").is_some_and(Value::is_string) && !at.is_empty() {
                    return false;
                }
                if let Some(name) = fields.get("$anchor").and_then(Value::as_str)
                    && found.insert(name.to_owned(), at.clone()).is_some()
                {
                    return false;
                }
                let step = |key: &str| format!("{at}/{}", escaped(key).replace('%', "%25"));
                open.extend(fields.iter().map(|(key, value)| (value, step(key))));
            }
            Value::Array(items) => {
                let items = items.iter().enumerate();
                open.extend(items.map(|(index, it)| (it, format!("{at}/{index}"))));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    true
}
