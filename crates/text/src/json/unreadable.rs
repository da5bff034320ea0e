//! The kinds of JSON that not every reader reads, or reads alike.

use std::fmt;

/// What is JSON and yet cannot be read back, or not by every reader alike.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Unreadable {
    /// One object has this key twice, however it is spelled.
    DuplicateKey,
    /// An escape says half of a surrogate pair, which is not text.
    LoneSurrogate,
    /// A number is beyond all floats, such as `1e999`.
    Number,
    /// A key begins with `$serde_json::private::`, under which serde_json reads another value than
    /// is written.
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
