//! The phases of a conversation in a file of policies.

use recount_session::{PhaseDeclaration, Transition};
use serde_json::{Map, Value, json};

use super::keys::{self, Misread};
use super::reading::Reader;
use crate::typed::found;

impl Reader {
    /// Reads all phases; a mistake in one does not hide mistakes in the next.
    pub(super) fn phases(&mut self, value: &Value) -> Vec<PhaseDeclaration> {
        let Some(entries) = value.as_array() else {
            self.mistake(&["phases"], found::expected("a list of phases", value));
            return Vec::new();
        };
        let mut phases: Vec<PhaseDeclaration> = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            let index = index.to_string();
            let path = ["phases", index.as_str()];
            let Some(entry) = entry.as_object() else {
                self.mistake(&path, found::expected("a phase with a name", entry));
                continue;
            };
            let phase = self.phase(&path, entry);
            if !phase.name.is_empty() && phases.iter().any(|it| it.name == phase.name) {
                let what = format!("expected a name of its own, found {:?} again", phase.name);
                self.mistake(&[&path[..], &["name"]].concat(), what);
            }
            phases.push(phase);
        }
        let names: Vec<String> = phases.iter().map(|it| it.name.clone()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        for (index, phase) in phases.iter().enumerate() {
            for (way, transition) in phase.transitions.iter().enumerate() {
                if !names.contains(&transition.to.as_str()) {
                    let (index, way) = (index.to_string(), way.to_string());
                    let path = ["phases", &index, "transitions", &way, "to"];
                    let what = format!(
                        "expected a phase, found {:?}; {}",
                        transition.to,
                        listed(&names)
                    );
                    self.mistake(&path, what);
                }
            }
        }
        phases
    }

    fn phase(&mut self, path: &[&str], entry: &Map<String, Value>) -> PhaseDeclaration {
        self.unknown_keys(
            path,
            entry,
            &["name", "instruction", "tools", "transitions"],
        );
        let mut phase = PhaseDeclaration {
            name: self.text(path, entry, "name").unwrap_or_default(),
            ..PhaseDeclaration::default()
        };
        if entry.contains_key("instruction") {
            phase.instruction = self.text(path, entry, "instruction");
        }
        if let Some(tools) = entry.get("tools") {
            phase.tools = keys::names(tools);
            if phase.tools.is_none() {
                self.mistake(
                    &[path, &["tools"]].concat(),
                    found::expected("a list of names of tools", tools),
                );
            }
        }
        let ways = entry.get("transitions");
        match ways.map(|ways| (ways, ways.as_array())) {
            None => {}
            Some((_, Some(ways))) => {
                for (index, way) in ways.iter().enumerate() {
                    let index = index.to_string();
                    let path = [path, &["transitions", &index]].concat();
                    phase.transitions.extend(self.transition(&path, way));
                }
            }
            Some((other, None)) => self.mistake(
                &[path, &["transitions"]].concat(),
                found::expected("a list of transitions", other),
            ),
        }
        phase
    }

    fn transition(&mut self, path: &[&str], value: &Value) -> Option<Transition> {
        let expected = "{ to = \"phase\", when = { is_true = \"key\" } }";
        let Some(entry) = value.as_object() else {
            self.mistake(path, found::expected(expected, value));
            return None;
        };
        self.unknown_keys(path, entry, &["to", "when"]);
        let to = self.text(path, entry, "to");
        let when = match entry.get("when") {
            None => Err("expected a condition, found nothing".to_owned()),
            Some(when) => keys::condition(when, false).map_err(|misread| match misread {
                Misread::Other => {
                    found::expected("a condition such as { is_true = \"verified\" }", when)
                }
                Misread::Because(why) => why,
            }),
        };
        match when {
            Ok(when) => Some(Transition { to: to?, when }),
            Err(what) => {
                self.mistake(&[path, &["when"]].concat(), what);
                None
            }
        }
    }

    /// Reads a required text that must not be empty.
    fn text(&mut self, path: &[&str], entry: &Map<String, Value>, key: &str) -> Option<String> {
        let value = entry.get(key);
        let text = value.and_then(Value::as_str).filter(|it| !it.is_empty());
        if text.is_none() {
            let found = value.map_or_else(|| "nothing".to_owned(), found::found);
            self.mistake(
                &[path, &[key]].concat(),
                format!("expected a text, found {found}"),
            );
        }
        text.map(str::to_owned)
    }
}

/// Lists the phases in words.
pub(super) fn listed(names: &[&str]) -> String {
    const SHOWN_MAX: usize = 24;
    let named: Vec<&str> = names.iter().copied().filter(|it| !it.is_empty()).collect();
    match named.get(..SHOWN_MAX) {
        _ if named.is_empty() => "there are none".to_owned(),
        Some(shown) if named.len() > SHOWN_MAX => {
            let more = named.len() - SHOWN_MAX;
            format!("there are {} and {more} more", shown.join(", "))
        }
        Some(_) | None => format!("there are {}", named.join(", ")),
    }
}

pub(super) fn schema() -> Value {
    let text = json!({"type": "string", "minLength": 1});
    json!({
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "name": text,
                "instruction": {"type": "string", "minLength": 1, "description": "What the model is told when the phase is entered."},
                "tools": {"type": "array", "items": {"type": "string"}, "description": "The tools that may be called in it; absent: all."},
                "transitions": {
                    "type": "array",
                    "description": "Where it leads; the first whose condition holds is taken.",
                    "items": {
                        "type": "object",
                        "properties": {"to": text, "when": {"$ref": "#/$defs/condition"}},
                        "required": ["to", "when"],
                        "additionalProperties": false,
                    },
                },
            },
            "required": ["name"],
            "additionalProperties": false,
        },
    })
}

/// Returns the JSON Schema of [`Condition`](recount_session::Condition).
pub(super) fn condition_schema() -> Value {
    let one = |name: &str, schema: Value| json!({"type": "object", "properties": {name: schema}, "required": [name], "additionalProperties": false});
    let key = json!({"type": "string", "minLength": 1});
    let many = json!({"type": "array", "items": {"$ref": "#/$defs/condition"}});
    json!({
        "description": "A question about the state, and, of a gate, about the arguments (args:name, args:/json/pointer).",
        "oneOf": [
            one("is_true", key.clone()),
            one("exists", key.clone()),
            one("equals", json!({"type": "array", "prefixItems": [key, {}], "minItems": 2, "maxItems": 2})),
            one("compares", json!({
                "type": "array",
                "prefixItems": [key, {"enum": ["<", "<=", ">=", ">"]}, {}],
                "minItems": 3,
                "maxItems": 3,
            })),
            one("and", many.clone()),
            one("or", many),
            one("not", json!({"$ref": "#/$defs/condition"})),
        ],
    })
}
