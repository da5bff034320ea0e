//! The file of `recount run --tools FILE`: each tool a program, its schema and its policy, in TOML.
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
//! retry = { attempts = 3, backoff = "200ms" }   # takes in_doubt = "retry"
//! limit_per_session = 10
//! limit_per_minute = 2
//! secret = ["/card/number"]        # sealed on record, open for the tool; takes --keys
//! ```

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;
use toml::{Table, Value};

use crate::session::policy::{Background, InDoubt, Limits, Retry, ToolPolicy};
use crate::tool::{CommandTool, PolicyTool, ToolDispatcher, ToolMistake};

/// Reads the text of a tools file.
///
/// ```
/// use recount::cli::tools_file;
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
/// Everything that is wrong with the file, at once.
pub fn parse(text: &str) -> Result<ToolDispatcher, ToolsFileError> {
    let syntax = |error: toml::de::Error| ToolsFileError {
        mistakes: vec![error.to_string().trim_end().to_owned()],
    };
    let file: Table = text.parse().map_err(syntax)?;
    let mut mistakes = Vec::new();
    let mut dispatcher = ToolDispatcher::new();
    for key in file.keys().filter(|key| *key != "tool") {
        mistakes.push(unknown_key(key, &["tool"]));
    }
    let entries = match file.get("tool") {
        Some(Value::Array(entries)) if !entries.is_empty() => entries.as_slice(),
        Some(other) => {
            mistakes.push(format!(
                "expected tools as [[tool]], found {}",
                found(other)
            ));
            &[]
        }
        None => {
            mistakes.push("expected at least one [[tool]], found none".to_owned());
            &[]
        }
    };
    for (index, entry) in entries.iter().enumerate() {
        let mut reader = Reader::new(index, entry);
        let tool = reader.tool();
        mistakes.append(&mut reader.mistakes);
        // One tool at a time, so that one that is wrong does not hide what is wrong with the next.
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

/// Everything that is wrong with a tools file.
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

/// Reads one `[[tool]]` and gathers what is wrong with it.
struct Reader<'a> {
    entry: Option<&'a Table>,
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
            entry: entry.as_table(),
            tool,
            mistakes: Vec::new(),
        }
    }

    /// The tool, unless something it cannot be made without is wrong.
    fn tool(&mut self) -> Option<PolicyTool> {
        for key in self
            .entry
            .into_iter()
            .flat_map(Table::keys)
            .filter(|key| !KEYS.contains(&key.as_str()))
        {
            self.mistakes
                .push(format!("{}: {}", self.tool, unknown_key(key, &KEYS)));
        }
        let name = self.required("name", "a string", as_text);
        let description = self.required("description", "a string", as_text);
        let command = self.required("command", "a list of at least one string", as_command);
        let parameters = self.optional("parameters", "a table or a string of JSON", as_schema);
        let confirm = self.optional("confirm", "a hint or true", as_confirm);
        let timeout = self.optional("timeout", TIME, as_time);
        let in_doubt = self.optional(
            "in_doubt",
            "\"retry\", \"ask\" or \"settle_unknown\"",
            as_rule,
        );
        let long_running = self.optional("long_running", "true or false", Value::as_bool);
        let secret = self.optional("secret", "a list of JSON Pointers", as_texts);
        let cached = self.optional("cached", "a time or true", as_cached);
        let background = self.optional(
            "background",
            "\"INTERRUPT\", \"WHEN_IDLE\", \"SILENT\" or true",
            as_background,
        );
        let retry = self.optional("retry", "{ attempts = 3, backoff = \"200ms\" }", as_retry);
        let limits = Limits {
            per_session: self.optional("limit_per_session", "a whole number", as_count),
            per_minute: self.optional("limit_per_minute", "a whole number", as_count),
        };
        let ((program, args), name) = (command?, name?);
        let function = CommandTool::new(name, description?, parameters, program, args);
        let policy = ToolPolicy {
            timeout,
            cache: cached.is_some_and(|cached| cached.is_on),
            cache_max_age: cached.and_then(|cached| cached.max_age),
            background: background.flatten(),
            retry,
            limits,
            ..confirm.unwrap_or_default()
        };
        let mut tool = PolicyTool::new(Arc::new(function), policy);
        if let Some(rule) = in_doubt {
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

    fn optional<V>(
        &mut self,
        key: &str,
        expected: &str,
        read: fn(&Value) -> Option<V>,
    ) -> Option<V> {
        let value = self.entry?.get(key)?;
        let read = read(value);
        if read.is_none() {
            self.mistakes.push(format!(
                "{}: {key}: expected {expected}, found {}",
                self.tool,
                found(value)
            ));
        }
        read
    }
}

fn as_text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn as_texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(as_text).collect()
}

fn as_command(value: &Value) -> Option<(String, Vec<String>)> {
    let mut words = as_texts(value)?.into_iter();
    let program = words.next().filter(|program| !program.is_empty())?;
    Some((program, words.collect()))
}

fn as_schema(value: &Value) -> Option<Json> {
    match value {
        Value::String(text) => serde_json::from_str(text).ok(),
        Value::Table(_) => Some(as_json(value)),
        Value::Integer(_)
        | Value::Float(_)
        | Value::Boolean(_)
        | Value::Datetime(_)
        | Value::Array(_) => None,
    }
}

fn as_json(value: &Value) -> Json {
    match value {
        Value::String(text) => text.as_str().into(),
        Value::Integer(number) => (*number).into(),
        Value::Float(number) => (*number).into(),
        Value::Boolean(flag) => (*flag).into(),
        // JSON has no times; text is how they are written in it.
        Value::Datetime(time) => time.to_string().into(),
        Value::Array(items) => items.iter().map(as_json).collect(),
        Value::Table(table) => table
            .iter()
            .map(|(key, value)| (key.clone(), as_json(value)))
            .collect(),
    }
}

fn as_confirm(value: &Value) -> Option<ToolPolicy> {
    match value {
        Value::Boolean(true) => Some(ToolPolicy::gate("")),
        Value::Boolean(false) => Some(ToolPolicy::default()),
        Value::String(hint) => Some(ToolPolicy::gate(hint)),
        Value::Integer(_)
        | Value::Float(_)
        | Value::Datetime(_)
        | Value::Array(_)
        | Value::Table(_) => None,
    }
}

/// What `cached` says.
#[derive(Clone, Copy)]
struct Cached {
    is_on: bool,
    max_age: Option<Duration>,
}

fn as_cached(value: &Value) -> Option<Cached> {
    let (is_on, max_age) = match value.as_bool() {
        Some(is_on) => (is_on, None),
        None => (true, Some(as_time(value)?)),
    };
    Some(Cached { is_on, max_age })
}

fn as_background(value: &Value) -> Option<Option<Background>> {
    match value.as_bool() {
        Some(is_on) => Some(is_on.then(Background::default)),
        None => {
            let scheduling = serde_json::from_value(value.as_str()?.into()).ok()?;
            Some(Some(Background { scheduling }))
        }
    }
}

fn as_retry(value: &Value) -> Option<Retry> {
    let table = value.as_table().filter(|table| table.len() == 2)?;
    let backoff = as_time(table.get("backoff")?)?;
    Some(Retry {
        attempts_max: as_count(table.get("attempts")?)?,
        backoff_ms: u64::try_from(backoff.as_millis()).ok()?,
    })
}

fn as_count(value: &Value) -> Option<u32> {
    u32::try_from(value.as_integer()?).ok()
}

fn as_time(value: &Value) -> Option<Duration> {
    let text = value.as_str()?;
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let factor = match unit.trim_start() {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    let millis = number.parse::<u64>().ok()?.checked_mul(factor);
    millis.map(Duration::from_millis)
}

fn as_rule(value: &Value) -> Option<InDoubt> {
    let rules = [InDoubt::Retry, InDoubt::Ask, InDoubt::SettleUnknown];
    rules
        .into_iter()
        .find(|rule| value.as_str() == Some(rule.as_str()))
}

fn unknown_key(key: &str, known: &[&str]) -> String {
    let near = known
        .iter()
        .map(|name| (strsim::damerau_levenshtein(key, name), name));
    match near.min_by_key(|(distance, _)| *distance) {
        Some((distance, name)) if distance <= name.len().div_ceil(3) => {
            format!("{key}: unknown key; did you mean {name:?}?")
        }
        _ => format!("{key}: unknown key; expected one of {}", known.join(", ")),
    }
}

/// A value for a message: on one line, and short.
fn found(value: &Value) -> String {
    let text = match value {
        Value::Table(_) => return "a table".to_owned(),
        Value::Array(items) if items.is_empty() => return "an empty list".to_owned(),
        Value::String(text) => format!("{text:?}"),
        other => other.to_string().replace('\n', " "),
    };
    if text.chars().count() > SHOWN_CHARS_MAX {
        let start: String = text.chars().take(SHOWN_CHARS_MAX).collect();
        return format!("{start}…");
    }
    text
}

const SHOWN_CHARS_MAX: usize = 80;
const TIME: &str = "a time such as \"500ms\", \"10s\", \"2m\" or \"1h\"";
const KEYS: [&str; 14] = [
    "name",
    "description",
    "command",
    "parameters",
    "confirm",
    "timeout",
    "in_doubt",
    "long_running",
    "secret",
    "cached",
    "background",
    "retry",
    "limit_per_session",
    "limit_per_minute",
];

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
#[path = "tools_file_tests.rs"]
mod tests;
