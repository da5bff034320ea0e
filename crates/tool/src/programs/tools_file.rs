//! The file of `recount run --tools FILE`: programs as tools, with schema and policy, in TOML.
//!
//! ```toml
//! [[tool]]
//! name = "refund"
//! description = "Refunds an order"
//! command = ["./refund.sh", "--live"]
//! parameters = { type = "object", properties = { order = { type = "string" } }, required = ["order"] }
//! confirm = "Refund this order?"   # or true
//! timeout = "10s"                  # ms, s, m or h
//! in_doubt = "ask"                 # or "retry", "settle_unknown"
//! long_running = false
//! cached = "5m"                    # or true: as long as the session
//! background = "INTERRUPT"         # or true: WHEN_IDLE; or "SILENT"
//! retry = { attempts = 3, backoff = "200ms" }   # needs in_doubt = "retry"
//! limit_per_session = 10
//! limit_per_minute = 2
//! secret = ["/card/number"]        # sealed in the journal, clear for the tool; needs --keys
//! env = ["BANK_TOKEN"]             # variables of recount's own environment for the program
//! pin_program = false              # true: a program update voids earlier approvals
//! unpinned = ["./orders.db"]       # words of `command` that name files whose content may change
//! ```
//!
//! A program inherits `HOME`, `LOGNAME`, `PATH`, `SHELL`, `TERM`, `USER`, `LANG`, `TZ`, `TMPDIR`
//! and the variables in `env`. So it receives neither the model's API key nor the master key.
//! [`CommandTool`] describes the variables of a call. An approval of a call covers `command`, and
//! the content of scripts and other files named there.
//!
//! Policies are written as in a file of policies ([`policy_file`](crate::policy_file)), which
//! describes more of them.

use std::fmt;
use std::sync::Arc;

use recount_session::policy::ToolPolicy;
use serde_json::{Map, Value};

use super::command::CommandTool;
use crate::dispatch::dispatcher::ToolDispatcher;
use crate::policy_file::keys;
use crate::policy_file::toml_text::from_toml;
use crate::tools::mistake::ToolMistake;
use crate::tools::policy_tool::PolicyTool;
use crate::typed::found::{expected, unknown_key};

/// Reads the text of a tools file.
///
/// ```
/// use recount_tool::tools_file;
///
/// let tools = tools_file::parse(r#"
///     [[tool]]
///     name = "echo"
///     description = "Gives its arguments back"
///     command = ["cat"]
/// "#)?;
/// assert_eq!(tools.names().collect::<Vec<_>>(), ["echo"]);
/// # Ok::<(), tools_file::ToolsFileError>(())
/// ```
///
/// # Errors
/// All mistakes of the file at once.
pub fn parse(text: &str) -> Result<ToolDispatcher, ToolsFileError> {
    let syntax = |error: toml::de::Error| ToolsFileError {
        mistakes: vec![error.to_string().trim_end().to_owned()],
    };
    let file: toml::Table = text.parse().map_err(syntax)?;
    let mut mistakes = Vec::new();
    let mut dispatcher = ToolDispatcher::new();
    for key in file.keys().filter(|key| *key != "tool") {
        mistakes.push(unknown_key(key, &["tool"]));
    }
    let entries = match file.get("tool").map(from_toml) {
        Some(Value::Array(entries)) if !entries.is_empty() => entries,
        Some(other) => {
            mistakes.push(expected("tools as [[tool]]", &other));
            Vec::new()
        }
        None => {
            mistakes.push("expected at least one [[tool]], found none".to_owned());
            Vec::new()
        }
    };
    for (index, entry) in entries.iter().enumerate() {
        let mut reader = Reader::new(index, entry);
        let tool = reader.tool();
        mistakes.append(&mut reader.mistakes);
        // One tool at a time, so that a mistake in one does not hide mistakes in the next.
        if let Some(Err(error)) = tool.map(|tool| dispatcher.register(tool)) {
            mistakes.extend(error.mistakes.iter().map(ToolMistake::to_string));
        }
    }
    if mistakes.is_empty() {
        Ok(dispatcher)
    } else {
        Err(ToolsFileError { mistakes })
    }
}

/// All mistakes in a tools file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ToolsFileError {
    /// The mistakes, each with its tool and key, in the order of the file.
    pub mistakes: Vec<String>,
}

impl fmt::Display for ToolsFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.mistakes.join("\n"))
    }
}

impl std::error::Error for ToolsFileError {}

/// Reads one `[[tool]]` and collects its mistakes.
struct Reader<'a> {
    entry: Option<&'a Map<String, Value>>,
    tool: String,
    mistakes: Vec<String>,
}

impl<'a> Reader<'a> {
    fn new(index: usize, entry: &'a Value) -> Self {
        let name = entry.get("name").and_then(Value::as_str);
        let tool = name.map_or_else(
            || format!("tool number {}", index + 1),
            |name| format!("tool {name:?}"),
        );
        Self {
            entry: entry.as_object(),
            tool,
            mistakes: Vec::new(),
        }
    }

    /// Returns the tool unless a required part is invalid.
    fn tool(&mut self) -> Option<PolicyTool> {
        let known: Vec<&str> = OWN_KEYS.into_iter().chain(keys::names_of_keys()).collect();
        for key in self
            .entry
            .into_iter()
            .flat_map(Map::keys)
            .filter(|key| !known.contains(&key.as_str()))
        {
            self.mistakes
                .push(format!("{}: {}", self.tool, unknown_key(key, &known)));
        }
        let name = self.required("name", "a string", as_text);
        let description = self.required("description", "a string", as_text);
        let command = self.required("command", "a list of at least one string", as_command);
        let parameters = self.optional("parameters", "a table or a string of JSON", as_schema);
        let long_running = self.optional("long_running", "true or false", Value::as_bool);
        let secret: Option<Vec<String>> =
            self.optional("secret", "a list of JSON Pointers", keys::names);
        let env: Option<Vec<String>> =
            self.optional("env", "a list of names of variables", variables);
        let pin_program = self.optional("pin_program", "true or false", Value::as_bool);
        let unpinned: Option<Vec<String>> =
            self.optional("unpinned", "a list of words of the command", keys::names);
        let (policy, mistakes) = self.entry.map(keys::read).unwrap_or_default();
        for (key, what) in mistakes {
            self.mistakes.push(format!("{}: {key}: {what}", self.tool));
        }
        let ((program, args), name) = (command?, name?);
        for word in unpinned.iter().flatten() {
            if *word != program && !args.iter().any(|it| names_file(it, word)) {
                let what = format!("expected words of the command, found {word:?}");
                self.mistakes
                    .push(format!("{}: unpinned: {what}", self.tool));
            }
        }
        let mut function = CommandTool::new(name, description?, parameters, program, args)
            .inherit_env(env.into_iter().flatten())
            .unpinned(unpinned.into_iter().flatten());
        if pin_program == Some(true) {
            function = function.pin_program();
        }
        let declared = policy.in_doubt;
        let policy = policy.changed(ToolPolicy::default());
        let mut tool = PolicyTool::new(Arc::new(function), policy);
        if let Some(rule) = declared {
            tool = tool.with_in_doubt(rule);
        }
        for pointer in secret.into_iter().flatten() {
            tool = tool.with_secret(pointer);
        }
        Some(if long_running == Some(true) {
            tool.long_running()
        } else {
            tool
        })
    }

    fn required<V>(
        &mut self,
        key: &str,
        expected: &str,
        read: fn(&Value) -> Option<V>,
    ) -> Option<V> {
        if self.entry.is_none_or(|entry| !entry.contains_key(key)) {
            self.mistakes.push(format!(
                "{}: {key}: expected {expected}, found nothing",
                self.tool
            ));
        }
        self.optional(key, expected, read)
    }

    fn optional<V>(&mut self, key: &str, wanted: &str, read: fn(&Value) -> Option<V>) -> Option<V> {
        let value = self.entry?.get(key)?;
        let read = read(value);
        if read.is_none() {
            let what = expected(wanted, value);
            self.mistakes.push(format!("{}: {key}: {what}", self.tool));
        }
        read
    }
}

fn as_text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn as_command(value: &Value) -> Option<(String, Vec<String>)> {
    let words: Vec<String> = keys::names(value)?;
    let mut words = words.into_iter();
    let program = words.next().filter(|program| !program.is_empty())?;
    Some((program, words.collect()))
}

/// Reads names of environment variables.
fn variables(value: &Value) -> Option<Vec<String>> {
    let names: Vec<String> = keys::names(value)?;
    let is_name = |it: &String| !it.is_empty() && !it.contains(['=', '\0']);
    names.iter().all(is_name).then_some(names)
}

/// True if a word is the name of a file, or an option with it.
fn names_file(word: &str, name: &str) -> bool {
    word == name || word.split_once('=').is_some_and(|(_, it)| it == name)
}

fn as_schema(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) => serde_json::from_str(text).ok(),
        Value::Object(_) => Some(value.clone()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    }
}

/// The keys of a tool other than those of its policy.
const OWN_KEYS: [&str; 9] = [
    "name",
    "description",
    "command",
    "parameters",
    "long_running",
    "secret",
    "env",
    "pin_program",
    "unpinned",
];

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
#[path = "tools_file_tests.rs"]
mod tests;
