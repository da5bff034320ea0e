//! Why a message could not be read.

use std::error::Error;
use std::fmt;

/// A message that does not have the shape the protocol gives it: where, what was expected, what
/// came.
///
/// What came is named by its kind and not quoted, because messages hold secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// The way to the place, such as `toolCall.functionCalls[0].id`; empty for the message itself.
    pub path: String,
    /// What should have stood there.
    pub expected: String,
    /// What stood there.
    pub found: String,
}

impl DecodeError {
    #[doc(hidden)]
    pub fn new(expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self {
            path: String::new(),
            expected: expected.into(),
            found: found.into(),
        }
    }

    /// The same error seen from one level further out.
    #[doc(hidden)]
    pub fn under(mut self, segment: &str) -> Self {
        self.path = match self.path.chars().next() {
            None => segment.to_owned(),
            Some('[') => format!("{segment}{}", self.path),
            Some(_) => format!("{segment}.{}", self.path),
        };
        self
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str("message: ")?,
            path => write!(f, "{path}: ")?,
        }
        write!(f, "expected {}, found {}", self.expected, self.found)
    }
}

impl Error for DecodeError {}
