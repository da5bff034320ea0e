//! The part of a call that a message contains.

use std::fmt;
use std::str::FromStr;

use super::occasion::{UnknownWord, unknown};

/// The part of a call that a message to a sink contains.
///
/// Sealed arguments are never part of a message. Messages about sealed sessions have names at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// Ids, times and the link.
    None,
    /// Also the names of tool, agent, labels and approver.
    #[default]
    Names,
    /// Also the arguments, the hint and the reason.
    Arguments,
}

impl Detail {
    /// All of them, least first.
    pub const ALL: [Detail; 3] = [Detail::None, Detail::Names, Detail::Arguments];

    /// The word for it in settings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Detail::None => "none",
            Detail::Names => "names",
            Detail::Arguments => "arguments",
        }
    }
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Detail {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Detail, UnknownWord> {
        let found = Detail::ALL.into_iter().find(|it| it.as_str() == text);
        found.ok_or_else(|| unknown(text, &Detail::ALL.map(Detail::as_str)))
    }
}
