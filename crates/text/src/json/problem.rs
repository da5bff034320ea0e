//! The reasons for which a text is no [`Json`](super::Json), and the words for them.

use std::fmt;

use serde_json::value::RawValue;

use super::strict::{self, Flaw, What};
use super::unreadable::Unreadable;

/// The reason for which Recount does not take a text as a [`Json`](crate::json::Json).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonProblem {
    /// Not JSON at all, and where.
    Syntax(String),
    /// Objects and arrays within each other deeper than [`DEPTH_MAX`].
    TooDeep,
    /// One object names this key twice, so two readers may see two values.
    DuplicateKey(String),
    /// A string holds half of a surrogate pair, which is not text.
    LoneSurrogate,
    /// A key that serde_json keeps for itself: it would read what stands under it as another value
    /// than is written.
    ReservedKey(String),
}

/// How deep arguments may nest.
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

/// The levels of objects and arrays within each other in valid JSON.
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

/// Checks JSON text: at most `depth` levels, no repeated or reserved key, no half of a surrogate
/// pair, no number beyond all floats.
///
/// # Errors
/// [`JsonProblem::TooDeep`] before all else, then the first flaw.
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

/// The words of serde_json for text that is no JSON.
fn syntax(text: &str) -> String {
    match serde_json::from_str::<&RawValue>(text) {
        Ok(_) => "not readable".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// The string that a text begins with.
fn string(text: &str) -> String {
    let mut strings = serde_json::Deserializer::from_str(text).into_iter();
    match strings.next() {
        Some(Ok(string)) => string,
        Some(Err(_)) | None => String::new(),
    }
}

/// The words of serde_json for a number beyond all floats: they are on record, with the place in
/// the whole text.
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
