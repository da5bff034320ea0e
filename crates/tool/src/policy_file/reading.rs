//! The reader of a file of policies: returns its changes, or all its mistakes.

use serde_json::{Map, Value, json};

use super::keys::Misread;
use super::mistake::{PolicyFileError, PolicyMistake, is_json, whole};
use super::places::Places;
use crate::typed::found::{self, unknown_key};
use recount_session::{Json, PolicyChanges};

/// Reads a file of policies: JSON if it starts with `{`, otherwise TOML.
///
/// Without the feature `toml` only JSON is read. An agent (`Agent::policies`) takes the result.
///
/// ```
/// use recount_tool::policy_file;
/// use std::time::Duration;
///
/// let changes =
///     policy_file::parse(r#"{"tools": {"refund": {"confirm": false, "timeout": "10s"}}}"#)?;
/// assert_eq!(changes.tools["refund"].timeout, Some(Some(Duration::from_secs(10))));
///
/// let wrong =
///     policy_file::parse("{\n\"tools\": {\"refund\": {\"timout\": \"10s\"}}}").unwrap_err();
/// assert_eq!(
///     wrong.to_string(),
///     "line 2: tools.refund.timout: unknown key; did you mean \"timeout\"?"
/// );
/// # Ok::<(), policy_file::PolicyFileError>(())
/// ```
///
/// # Errors
/// All mistakes of the file at once.
pub fn parse(text: &str) -> Result<PolicyChanges, PolicyFileError> {
    let file = document(text).map_err(|mistake| PolicyFileError {
        mistakes: vec![mistake],
    })?;
    let mut reader = Reader::default();
    let changes = reader.changes(&file);
    if reader.mistakes.is_empty() {
        return Ok(changes);
    }
    let places = Places::of(text);
    let placed = reader
        .mistakes
        .into_iter()
        .map(|(path, what)| PolicyMistake {
            line: places.line(&path),
            field: path.join("."),
            what,
        });
    let mut mistakes: Vec<PolicyMistake> = placed.collect();
    mistakes.sort_by_key(|mistake| mistake.line);
    Err(PolicyFileError { mistakes })
}

/// Returns the JSON Schema of a file of policies, published as `docs/policy.schema.json`.
///
/// ```
/// let schema = recount_tool::policy_file::schema();
/// assert_eq!(schema["$defs"]["policy"]["properties"]["confirm"]["type"][0], "boolean");
/// ```
#[must_use]
pub fn schema() -> Value {
    let described = |mut schema: Value, about: &str| {
        if let Some(fields) = schema.as_object_mut() {
            fields.insert("description".to_owned(), about.into());
        }
        schema
    };
    let count = |about: &str| {
        let schema = super::keys::or_false(super::keys::count_schema());
        described(schema, about)
    };
    let policy = json!({"$ref": "#/$defs/policy"});
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Policies of a Recount agent",
        "description": "What is to hold in place of what an agent's code says. What is not spoken of stays as it is; false says that there is to be none.",
        "type": "object",
        "properties": {
            "$schema": {"type": "string"},
            "running_max": count(
                "How many calls of a session may run at the same time. false: any number.",
            ),
            "calls_per_message_max": count(
                "How many calls one message of the model may bring; the others are refused. \
                 false: any number.",
            ),
            "open_calls_max": count(
                "How many calls of a session may be open at the same time; others are \
                 refused. false: any number.",
            ),
            "max_open_requests": count(
                "How many calls of a session may wait for a person at the same time; others \
                 are refused. false: any number.",
            ),
            "answers_per_minute": count(
                "How many approvals one person may give in a session in any sixty seconds; a \
                 further one is refused, and its request stays open. false: any number.",
            ),
            "acknowledge_after": described(
                super::keys::or_false(super::keys::time_schema()),
                "How long a call waits before the model is told that it waits, if its tool names \
                 no time. false: it is told at once.",
            ),
            "timeout": described(super::keys::or_false(super::keys::time_schema()), "The time limit of calls that the model waits for and whose tool names none."),
            "phases": described(super::phases::schema(), "All phases of the conversation, in place of those that the agent has; the first is where it begins."),
            "defaults": described(policy.clone(), "What is to hold for every tool."),
            "tools": {
                "type": "object",
                "propertyNames": {"minLength": 1},
                "additionalProperties": policy,
                "description": "What is to hold for the tools of these names, over the defaults.",
            },
        },
        "additionalProperties": false,
        "$defs": {"policy": super::keys::schema(), "condition": super::phases::condition_schema()},
    })
}

fn document(text: &str) -> Result<Map<String, Value>, PolicyMistake> {
    if !is_json(text) {
        return super::toml_text::document(text);
    }
    let file: Map<String, Value> = serde_json::from_str(text)
        .map_err(|error| whole(Some(error.line()), format!("expected JSON: {error}")))?;
    // Reject duplicate keys, because only one of the values would count.
    Json::parse(text).map_err(|problem| whole(None, format!("expected JSON, found {problem}")))?;
    Ok(file)
}

/// Reads a file and collects its mistakes.
#[derive(Default)]
pub(super) struct Reader {
    /// The path, as keys and list indexes, and the mistake.
    mistakes: Vec<(Vec<String>, String)>,
}

impl Reader {
    pub(super) fn mistake(&mut self, path: &[&str], what: String) {
        let path = path.iter().map(|it| (*it).to_owned()).collect();
        self.mistakes.push((path, what));
    }

    /// Reports unknown keys. The path ends with the key, so the text does not repeat it.
    pub(super) fn unknown_keys(
        &mut self,
        path: &[&str],
        entry: &Map<String, Value>,
        known: &[&str],
    ) {
        for key in entry.keys().filter(|key| !known.contains(&key.as_str())) {
            let said = unknown_key(key, known);
            let what = said.strip_prefix(&format!("{key}: ")).unwrap_or(&said);
            self.mistake(&[path, &[key]].concat(), what.to_owned());
        }
    }

    pub(super) fn changes(&mut self, file: &Map<String, Value>) -> PolicyChanges {
        let known = [
            "$schema",
            "running_max",
            "calls_per_message_max",
            "open_calls_max",
            "max_open_requests",
            "answers_per_minute",
            "timeout",
            "acknowledge_after",
            "defaults",
            "tools",
            "phases",
        ];
        self.unknown_keys(&[], file, &known);
        let mut changes = PolicyChanges {
            running_max: self.setting(file, "running_max", super::keys::COUNT, super::keys::count),
            calls_per_message_max: self.setting(
                file,
                "calls_per_message_max",
                super::keys::COUNT,
                super::keys::count,
            ),
            open_calls_max: self.setting(
                file,
                "open_calls_max",
                super::keys::COUNT,
                super::keys::count,
            ),
            max_open_requests: self.setting(
                file,
                "max_open_requests",
                super::keys::COUNT,
                super::keys::count,
            ),
            answers_per_minute: self.setting(
                file,
                "answers_per_minute",
                super::keys::COUNT,
                super::keys::count,
            ),
            timeout: self.setting(file, "timeout", super::keys::TIME, super::keys::some_time),
            acknowledge_after: self.setting(
                file,
                "acknowledge_after",
                super::keys::TIME,
                super::keys::some_time,
            ),
            ..PolicyChanges::default()
        };
        if let Some(phases) = file.get("phases") {
            changes.phases = Some(self.phases(phases));
        }
        if let Some(defaults) = file.get("defaults") {
            changes.defaults = self.policy(&["defaults"], defaults);
        }
        match file.get("tools") {
            None => {}
            Some(Value::Object(tools)) => {
                for (name, policy) in tools {
                    if name.is_empty() {
                        let what = "expected the name of a tool, found an empty one";
                        self.mistake(&["tools", name], what.to_owned());
                    }
                    let read = self.policy(&["tools", name], policy);
                    changes.tools.insert(name.clone(), read);
                }
            }
            Some(other) => self.mistake(
                &["tools"],
                found::expected("a table of policies by tool name", other),
            ),
        }
        self.unknown_phases(&changes);
        changes
    }

    fn setting<V>(
        &mut self,
        file: &Map<String, Value>,
        key: &str,
        expected: &str,
        read: impl Fn(&Value) -> Result<V, Misread>,
    ) -> Option<Option<V>> {
        let value = file.get(key)?;
        match super::keys::unless_false(value, read) {
            Ok(setting) => Some(setting),
            Err(Misread::Other | Misread::Because(_)) => {
                self.mistake(&[key], found::expected(expected, value));
                None
            }
        }
    }

    pub(super) fn policy(
        &mut self,
        path: &[&str],
        value: &Value,
    ) -> recount_session::ToolPolicyChanges {
        let Some(entry) = value.as_object() else {
            self.mistake(path, found::expected("a table of policies", value));
            return Default::default();
        };
        let known: Vec<&str> = super::keys::names_of_keys().collect();
        self.unknown_keys(path, entry, &known);
        let (read, mistakes) = super::keys::read(entry);
        for (key, what) in mistakes {
            self.mistake(&[path, &[key]].concat(), what);
        }
        read
    }

    /// Reports phases of tools that do not exist, because the tool would never be available. If the
    /// file declares no phases, the agent does.
    pub(super) fn unknown_phases(&mut self, changes: &PolicyChanges) {
        let Some(declared) = &changes.phases else {
            return;
        };
        let names: Vec<&str> = declared.iter().map(|it| it.name.as_str()).collect();
        let tools = changes.tools.iter();
        let of_tools = tools.map(|(name, it)| (vec!["tools", name.as_str(), "phases"], it));
        let all = of_tools.chain([(vec!["defaults", "phases"], &changes.defaults)]);
        for (path, policy) in all {
            for phase in policy.phases.iter().flatten().flatten() {
                if !names.contains(&phase.as_str()) {
                    let there_are = super::phases::listed(&names);
                    self.mistake(
                        &path,
                        format!("expected phases of this file, found {phase:?}; {there_are}"),
                    );
                }
            }
        }
    }
}

#[cfg(test)]
#[expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may fail"
)]
#[path = "policy_file_tests.rs"]
pub(super) mod tests;
