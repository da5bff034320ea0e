//! The shape of JSON documents: the paths of their members, and their types.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;

use crate::program::Run;

/// Members with values of tools, people or records. Their shape is pinned elsewhere or is up to the
/// user.
const ANYTHING: [&str; 17] = [
    "after",
    "args",
    "before",
    "body",
    "changes[].a",
    "changes[].b",
    "content",
    "edited_args",
    "inputs",
    "labels",
    "malformed_args",
    "met",
    "payload",
    "payload_schema",
    "state",
    "ticket",
    "words",
];

/// The shapes of the output, by command.
#[derive(Default)]
pub(crate) struct Shapes(BTreeMap<&'static str, BTreeMap<String, BTreeSet<&'static str>>>);

impl Shapes {
    /// Adds the output of a command: lines, or a document.
    pub(crate) fn add(&mut self, command: &'static str, run: &Run) {
        let printed = match serde_json::from_str::<Value>(&run.out) {
            Ok(document) => vec![document],
            Err(_) => run.json_lines(),
        };
        assert!(!printed.is_empty(), "{command} printed nothing: {run:#?}");
        let paths = self.0.entry(command).or_default();
        for value in &printed {
            walk(value, "", paths);
        }
    }

    /// One line for each path, such as `calls[].started.at: string`.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for (command, paths) in &self.0 {
            writeln!(text, "# {command}").unwrap();
            for (path, types) in paths {
                let types: Vec<&str> = types.iter().copied().collect();
                writeln!(text, "{path}: {}", types.join(" | ")).unwrap();
            }
        }
        text
    }
}

fn walk(value: &Value, path: &str, paths: &mut BTreeMap<String, BTreeSet<&'static str>>) {
    let anything = |it: &str| path == it || path.ends_with(&format!(".{it}"));
    let kind = match value {
        Value::Null => "null",
        _ if ANYTHING.iter().any(|it| anything(it)) => "any",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    if !path.is_empty() {
        paths.entry(path.to_owned()).or_default().insert(kind);
    }
    if kind == "any" {
        return;
    }
    match value {
        Value::Array(items) => {
            for item in items {
                walk(item, &format!("{path}[]"), paths);
            }
        }
        Value::Object(members) => {
            for (key, value) in members {
                let dot = if path.is_empty() { "" } else { "." };
                walk(value, &format!("{path}{dot}{key}"), paths);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
