//! The definitions of a server's tools, checked one by one: a mistake in one does not affect
//! others.

use std::collections::BTreeSet;

use recount_session::ObjectHash;
use recount_session::object::canonical_json;
use recount_tool::{ArgumentCheck, is_name};
use rmcp::model::Tool;
use serde_json::{Map, Value, json};

use super::naming;
use super::repaired::repaired;
use crate::settings::error::McpMistake;
use crate::settings::pattern::fits;
use crate::settings::server::McpServer;

/// The definition of one tool by its server.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    /// The tool's name at the server.
    pub(crate) own_name: String,
    /// The tool's name for the model.
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) parameters: Value,
    /// True if the server marks the tool as read-only or idempotent.
    pub(crate) repeatable: bool,
    /// True if the server reads the payload of an approval.
    pub(crate) takes_confirmation: bool,
    /// The places of the schema that are not checked as written, with the reason.
    pub(crate) loosened: Vec<String>,
    /// The whole definition without icons and without metadata for other programs.
    pub(crate) whole: Value,
}

/// The tools that can be offered to a model, and the mistakes in the list.
pub(crate) struct Checked {
    pub(crate) definitions: Vec<Definition>,
    pub(crate) mistakes: Vec<McpMistake>,
}

/// Returns the tool's name at the server, and a hash to detect a changed definition.
pub(crate) fn hash_of(listed: &Value) -> Option<(String, ObjectHash)> {
    let name = listed.get("name")?.as_str()?.to_owned();
    Some((name, ObjectHash::of(&canonical_json(&whole(listed)))))
}

impl Definition {
    /// Returns the hash to detect a changed definition.
    pub(crate) fn hash(&self) -> ObjectHash {
        ObjectHash::of(&canonical_json(&self.whole))
    }

    /// Reads a definition; `None` if the tool cannot be declared. Adds its mistakes to `found`.
    fn of(listed: &Value, name: &str, found: &mut Vec<McpMistake>) -> Option<Definition> {
        let tool = name.to_owned();
        let mut note = |field: &str, problem: &str| {
            found.push(McpMistake::Field {
                tool: tool.clone(),
                field: field.to_owned(),
                problem: problem.to_owned(),
            });
        };
        if let Some(reason) = listed.get(UNREADABLE).and_then(Value::as_str) {
            note(
                "definition",
                &format!("left out: it cannot be read: {reason}"),
            );
            return None;
        }
        let text = |of: &Value, key: &str| of.get(key).and_then(Value::as_str).map(str::to_owned);
        for key in ["title", "description"] {
            if listed
                .get(key)
                .is_some_and(|it| !it.is_string() && !it.is_null())
            {
                note(key, "left out: expected a string");
            }
        }
        let nothing = Value::Null;
        let hints = listed.get("annotations").unwrap_or(&nothing);
        if !hints.is_null() && !hints.is_object() {
            note("annotations", "left out: expected an object");
        }
        let mut hint = |key: &str| match hints.get(key) {
            Some(Value::Bool(said)) => *said,
            Some(Value::Null) | None => false,
            Some(_) => {
                note(
                    &format!("annotations/{key}"),
                    "left out: expected true or false",
                );
                false
            }
        };
        let repeatable = [hint("readOnlyHint"), hint("idempotentHint")].contains(&true);
        let [_, _] = [hint("destructiveHint"), hint("openWorldHint")];
        let schema = match listed.get("inputSchema") {
            Some(schema @ Value::Object(_)) => schema.clone(),
            None | Some(Value::Null) => {
                note("inputSchema", "missing: any object is taken");
                json!({"type": "object"})
            }
            Some(_) => {
                let reason = "expected a JSON object".to_owned();
                found.push(McpMistake::Schema { tool, reason });
                return None;
            }
        };
        let mut loosened = Vec::new();
        let mut parameters = schema;
        if ArgumentCheck::new(Some(&parameters)).is_err() {
            let (changed, notes) = repaired(&parameters);
            if let Err(reason) = ArgumentCheck::new(Some(&changed)) {
                found.push(McpMistake::Schema { tool, reason });
                return None;
            }
            parameters = changed;
            for (at, what) in notes {
                note(&format!("inputSchema{at}"), &what);
                loosened.push(format!("{at}: {what}"));
            }
        }
        let described = text(listed, "description").or_else(|| text(listed, "title"));
        let meta = listed.get("_meta").and_then(|it| it.get(CONFIRMATION));
        Some(Definition {
            own_name: text(listed, "name").unwrap_or_default(),
            name: name.to_owned(),
            description: described
                .or_else(|| text(hints, "title"))
                .unwrap_or_default(),
            parameters,
            repeatable,
            takes_confirmation: meta == Some(&Value::Bool(true)),
            loosened,
            whole: whole(listed),
        })
    }
}

/// Returns the definition that an approval covers, without icons and `_meta`.
///
/// It has the library's own form if the library can read it.
fn whole(listed: &Value) -> Value {
    let read = serde_json::from_value::<Tool>(listed.clone()).ok();
    let mut whole = read.and_then(|it| serde_json::to_value(it).ok());
    let whole = whole.get_or_insert_with(|| listed.clone());
    if let Some(fields) = whole.as_object_mut() {
        fields.remove("_meta");
        fields.remove("icons");
    }
    whole.take()
}

/// Selects the tools that the settings include, under names that the service accepts.
pub(crate) fn checked(listed: &[Value], server: &McpServer) -> Checked {
    let mut mistakes = Vec::new();
    let mut own = BTreeSet::new();
    let mut named = Vec::new();
    for (index, it) in listed.iter().enumerate() {
        let Some(name) = it.get("name").and_then(Value::as_str) else {
            mistakes.push(McpMistake::Field {
                tool: format!("number {}", index + 1),
                field: "name".to_owned(),
                problem: "left out: expected a string".to_owned(),
            });
            continue;
        };
        let name = format!("{}{name}", server.prefix);
        if !server.wants(&name) {
            continue;
        }
        if !own.insert(name.clone()) {
            mistakes.push(McpMistake::Twice { tool: name });
            continue;
        }
        named.push((server.alias_of(&name).unwrap_or(name), it));
    }
    let legal = named.iter().map(|(name, _)| name);
    let mut taken: BTreeSet<String> = legal.filter(|it| is_name(it)).cloned().collect();
    let mut seen = BTreeSet::new();
    let mut definitions = Vec::new();
    for (name, listed) in named {
        let alias = match is_name(&name) {
            true => name.clone(),
            false => {
                mistakes.push(McpMistake::Name { tool: name.clone() });
                naming::legal(&name, &taken)
            }
        };
        taken.insert(alias.clone());
        if !seen.insert(alias.clone()) {
            mistakes.push(McpMistake::Twice { tool: alias });
            continue;
        }
        definitions.extend(Definition::of(listed, &alias, &mut mistakes));
    }
    Checked {
        definitions,
        mistakes,
    }
}

impl McpServer {
    /// True if the settings include a tool with this name, prefix included.
    fn wants(&self, name: &str) -> bool {
        let any = |patterns: &[String]| patterns.iter().any(|it| fits(it, name));
        (self.included.is_empty() || any(&self.included)) && !any(&self.excluded)
    }

    fn alias_of(&self, name: &str) -> Option<String> {
        self.aliases.get(name).cloned()
    }
}

/// The key that replaces a definition that cannot be read; its value is the reason.
pub(crate) const UNREADABLE: &str = "recount/unreadable";

/// The `_meta` key of a tool that reads an approval's payload, and of its calls.
pub(crate) const CONFIRMATION: &str = "recount/confirmation";

/// Returns the tool's `definition` for the record, with the places that are not checked as written.
pub(crate) fn declared(server: &str, definition: &Definition) -> Value {
    let mut declared = Map::from_iter([
        ("server".to_owned(), server.into()),
        ("tool".to_owned(), definition.whole.clone()),
    ]);
    if !definition.loosened.is_empty() {
        declared.insert("loosened".to_owned(), json!(definition.loosened));
    }
    declared.into()
}
