//! Kinds of JSON that parsers reject or read differently.

use std::fmt;

/// A flaw of JSON that parsers reject or read differently.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Unreadable {
    /// An object has this key twice, in any spelling.
    DuplicateKey,
    /// An escape denotes half of a surrogate pair, which is not text.
    LoneSurrogate,
    /// A number is beyond the range of floats, such as `1e999`.
    Number,
    /// A key begins with `$serde_json::private::`. serde_json reads another value under it than is
    /// written.
    ReservedKey,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unreadable::DuplicateKey => "a key that its object has twice",
            Unreadable::LoneSurrogate => "half of a surrogate pair",
            Unreadable::Number => "a number beyond all floats",
            Unreadable::ReservedKey => "a reserved key",
        })
    }
}

impl std::error::Error for Unreadable {}
