//! The reason why a message could not be decoded.

use std::error::Error;
use std::fmt;

/// An error for a message that does not have the protocol's shape.
///
/// The found value is described by its kind and never quoted, because messages contain secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// The path to the fault, such as `toolCall.functionCalls[0].id`. Empty for the message itself.
    pub path: String,
    /// The expected value.
    pub expected: String,
    /// The kind of the found value.
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

    /// Returns the error with a path that is one level longer at its beginning.
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
