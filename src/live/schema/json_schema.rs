//! Conversion of a tool's JSON Schema for `parametersJsonSchema`.

use serde_json::Value;

use super::fields::Fields;
use super::{REFERENCES_MAX, SCHEMAS_MAX, add};
use crate::session::schema::map_inner_schemas;

/// Keywords that do not constrain values and that the service rejects.
const LEFT_OUT: [&str; 3] = ["$schema", "$comment", "$vocabulary"];

/// Removes keywords that the service rejects, and merges references with the keywords beside them.
///
/// The service accepts only other `$` keywords beside a `$ref`. So a reference with siblings is
/// replaced by its target, merged with the siblings. Within that target, a recursive reference
/// stays, and only its siblings are removed.
pub(crate) fn json_schema(schema: &Value) -> Value {
    let mut merging = Merging {
        root: schema,
        inside: Vec::new(),
        left: SCHEMAS_MAX,
    };
    merging.schema(schema)
}

struct Merging<'s> {
    root: &'s Value,
    /// The references that are being replaced.
    inside: Vec<String>,
    /// The number of replacements left. Without the limit, references could multiply without end.
    left: usize,
}

impl Merging<'_> {
    fn schema(&mut self, schema: &Value) -> Value {
        let Some(keywords) = schema.as_object() else {
            return schema.clone();
        };
        let mut keywords = keywords.clone();
        let outside = self.inside.len();
        self.merge(&mut keywords);
        keywords.retain(|keyword, _| !LEFT_OUT.contains(&keyword.as_str()));
        let merged = map_inner_schemas(&keywords, &mut |inner| self.schema(inner));
        self.inside.truncate(outside);
        Value::Object(merged)
    }

    /// Replaces a reference that has siblings by its target.
    fn merge(&mut self, keywords: &mut Fields) {
        while let Some(Value::String(pointer)) = keywords.get("$ref") {
            if keywords.keys().all(|keyword| keyword.starts_with('$')) {
                return;
            }
            let pointer = pointer.clone();
            let is_mergeable = !self.inside.contains(&pointer)
                && self.inside.len() < REFERENCES_MAX
                && self.left > 0;
            let target = pointer.strip_prefix('#');
            let target = target.and_then(|it| self.root.pointer(it)?.as_object());
            let (true, Some(target)) = (is_mergeable, target) else {
                keywords.retain(|keyword, _| keyword.starts_with('$'));
                return;
            };
            self.left -= 1;
            self.inside.push(pointer);
            keywords.remove("$ref");
            let mut target = target.clone();
            // Other references lead to the definitions at the root, so these stay there.
            target.retain(|keyword, _| !DEFINITIONS.contains(&keyword.as_str()));
            add(target, keywords);
        }
    }
}

const DEFINITIONS: [&str; 3] = ["$defs", "definitions", "$id"];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rejected_keywords_are_removed() {
        let schema = json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {"$schema": {"type": "string", "$comment": "a property named so"}},
            "default": {"$schema": "data"}
        });
        let expected = json!({
            "type": "object",
            "properties": {"$schema": {"type": "string"}},
            "default": {"$schema": "data"}
        });
        assert_eq!(json_schema(&schema), expected);
    }

    #[test]
    fn references_with_siblings_are_put_in_place() {
        let schema = json!({
            "type": "object",
            "properties": {
                "from": {"$ref": "#/$defs/Alias", "description": "Where from", "default": null},
                "to": {"$ref": "#/$defs/Place"}
            },
            "$defs": {
                "Alias": {"$ref": "#/$defs/Place", "title": "Alias"},
                "Place": {"type": "object", "description": "A place", "properties":
                    {"next": {"$ref": "#/$defs/Place", "description": "The next"}}}
            }
        });
        let found = json_schema(&schema);
        let from = json!({"type": "object", "title": "Alias", "description": "Where from",
            "default": null, "properties": {"next": {"$ref": "#/$defs/Place"}}});
        assert_eq!(found.pointer("/properties/from"), Some(&from));
        let to = json!({"$ref": "#/$defs/Place"});
        assert_eq!(found.pointer("/properties/to"), Some(&to));
        assert!(found.pointer("/$defs/Place").is_some());
    }

    #[test]
    fn references_that_double_without_end_are_bounded() {
        let two = |to: &str| {
            json!({"type": "object", "properties": {
            "a": {"$ref": to, "title": "a"}, "b": {"$ref": to, "title": "b"}}})
        };
        let mut definitions = serde_json::Map::new();
        for at in 0..40 {
            definitions.insert(format!("d{at}"), two(&format!("#/$defs/d{}", at + 1)));
        }
        let mut schema = two("#/$defs/d0");
        if let Some(root) = schema.as_object_mut() {
            root.insert("$defs".to_owned(), definitions.into());
        }
        assert!(json_schema(&schema).to_string().len() < 4_000_000);
    }
}
