//! The reasons why a text is not a [`Json`](super::Json), and their messages.

use std::fmt;

use serde_json::value::RawValue;

use super::strict::{self, Flaw, What};
use super::unreadable::Unreadable;

/// The reason why a text is rejected as a [`Json`](crate::json::Json).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonProblem {
    /// The text is not JSON; the message has the position.
    Syntax(String),
    /// Objects and arrays nest deeper than [`DEPTH_MAX`].
    TooDeep,
    /// An object repeats this key, so two parsers may read two values.
    DuplicateKey(String),
    /// A string contains half of a surrogate pair, which is not text.
    LoneSurrogate,
    /// The key is reserved by serde_json, which would read another value under it than is written.
    ReservedKey(String),
}

/// The maximum nesting depth of arguments.
pub const DEPTH_MAX: usize = 64;

impl fmt::Display for JsonProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JsonProblem::Syntax(what) => write!(f, "not JSON: {what}"),
            JsonProblem::TooDeep => write!(f, "nested deeper than {DEPTH_MAX} levels"),
            JsonProblem::DuplicateKey(key) => {
                write!(f, "the key {key:?} appears twice in one object")
            }
            JsonProblem::LoneSurrogate => f.write_str("a string holds half of a surrogate pair"),
            JsonProblem::ReservedKey(key) => write!(f, "the key {key:?} is reserved"),
        }
    }
}

impl std::error::Error for JsonProblem {}

/// Returns the nesting depth of valid JSON.
pub fn levels(text: &str) -> usize {
    let deepest = text
        .bytes()
        .scan(
            (0usize, false, false),
            |(depth, in_string, escaped), byte| {
                match (*in_string, byte) {
                    (true, _) if *escaped => *escaped = false,
                    (true, b'\\') => *escaped = true,
                    (true, b'"') => *in_string = false,
                    (true, _) => {}
                    (false, b'"') => *in_string = true,
                    (false, b'{' | b'[') => *depth += 1,
                    (false, b'}' | b']') => *depth = depth.saturating_sub(1),
                    (false, _) => {}
                }
                Some(*depth)
            },
        )
        .max();
    deepest.unwrap_or_default()
}

/// Checks JSON text.
///
/// The text may have at most `depth` levels. It must have no repeated or reserved key, no half of a
/// surrogate pair and no number beyond the range of floats.
///
/// # Errors
/// [`JsonProblem::TooDeep`] takes precedence, otherwise the first flaw is returned.
pub fn check(text: &str, depth: usize) -> Result<(), JsonProblem> {
    strict::check(text, depth).map_err(|flaw| {
        if levels(text) > depth {
            JsonProblem::TooDeep
        } else {
            JsonProblem::of(text, flaw)
        }
    })
}

impl JsonProblem {
    fn of(text: &str, flaw: Flaw) -> JsonProblem {
        let rest = text.get(flaw.at..).unwrap_or_default();
        match flaw.what {
            What::TooDeep => JsonProblem::TooDeep,
            What::Syntax => JsonProblem::Syntax(syntax(text)),
            What::Unreadable(Unreadable::LoneSurrogate) => JsonProblem::LoneSurrogate,
            What::Unreadable(Unreadable::DuplicateKey) => JsonProblem::DuplicateKey(string(rest)),
            What::Unreadable(Unreadable::ReservedKey) => JsonProblem::ReservedKey(string(rest)),
            What::Unreadable(Unreadable::Number) => {
                let before = text.get(..flaw.at).unwrap_or_default();
                JsonProblem::Syntax(number(before, rest))
            }
        }
    }
}

/// Returns serde_json's message for text that is not JSON.
fn syntax(text: &str) -> String {
    match serde_json::from_str::<&RawValue>(text) {
        Ok(_) => "not readable".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// Returns the string at the beginning of a text.
fn string(text: &str) -> String {
    let mut strings = serde_json::Deserializer::from_str(text).into_iter();
    match strings.next() {
        Some(Ok(string)) => string,
        Some(Err(_)) | None => String::new(),
    }
}

/// Returns serde_json's message for a number beyond the range of floats. Records contain such
/// messages, with the position in the whole text.
fn number(before: &str, rest: &str) -> String {
    let mut numbers = serde_json::Deserializer::from_str(rest).into_iter::<f64>();
    let Some(Err(error)) = numbers.next() else {
        return "number out of range".to_owned();
    };
    let alone = error.to_string();
    let words = alone
        .split_once(" at line ")
        .map_or(alone.as_str(), |it| it.0);
    let line = before.matches('\n').count() + 1;
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let column = before.len() - line_start + error.column();
    format!("{words} at line {line} column {column}")
}
