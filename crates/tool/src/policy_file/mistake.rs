//! The mistakes in a file of policies, with their lines.

use std::fmt;

/// All mistakes in a file of policies.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PolicyFileError {
    /// The mistakes.
    pub mistakes: Vec<PolicyMistake>,
}

/// One mistake in a file of policies.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PolicyMistake {
    /// The line number, from 1, if known.
    pub line: Option<usize>,
    /// The field, such as `tools.refund.timeout`; empty for the file as a whole.
    pub field: String,
    /// The expected and the found value.
    pub what: String,
}

impl fmt::Display for PolicyMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        f.write_str(&self.what)
    }
}

impl fmt::Display for PolicyFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.mistakes.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for PolicyFileError {}

/// Returns a mistake of the file as a whole.
pub(super) fn whole(line: Option<usize>, what: String) -> PolicyMistake {
    PolicyMistake {
        line,
        field: String::new(),
        what,
    }
}

/// True if the text is JSON; no TOML starts with `{`.
pub(super) fn is_json(text: &str) -> bool {
    text.trim_start().starts_with('{')
}
