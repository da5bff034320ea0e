//! What is wrong with a file of policies, and at which line.

use std::fmt;

/// Everything that is wrong with a file of policies.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PolicyFileError {
    /// The mistakes.
    pub mistakes: Vec<PolicyMistake>,
}

/// One thing that is wrong with a file of policies.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PolicyMistake {
    /// The line, from 1, where it is known.
    pub line: Option<usize>,
    /// The field, such as `tools.refund.timeout`; empty where it is the file as a whole.
    pub field: String,
    /// What was expected and what was found.
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

/// A mistake of the file as a whole.
pub(super) fn whole(line: Option<usize>, what: String) -> PolicyMistake {
    PolicyMistake {
        line,
        field: String::new(),
        what,
    }
}

/// Whether the text is to be read as JSON; no TOML begins like this.
pub(super) fn is_json(text: &str) -> bool {
    text.trim_start().starts_with('{')
}
