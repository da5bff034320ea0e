//! The occasions of notifications.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The occasion of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Occasion {
    /// A call waits for an approver.
    Asked,
    /// A request that still waits expires soon.
    Reminder,
    /// A request still waits after a set time.
    Escalated,
    /// A request was answered, has expired or was withdrawn.
    Decided,
    /// A call was cut off, so its outcome is unknown.
    InDoubt,
    /// A call ended while no client was connected.
    Settled,
    /// The summary of a day.
    Digest,
    /// A message that an operator sends to try a sink.
    Test,
}

/// The text is no word of a list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected one of {expected}, found {found:?}")]
pub struct UnknownWord {
    /// The words of the list.
    pub expected: String,
    /// The text.
    pub found: String,
}

impl Occasion {
    /// All occasions.
    pub const ALL: [Occasion; 8] = [
        Occasion::Asked,
        Occasion::Reminder,
        Occasion::Escalated,
        Occasion::Decided,
        Occasion::InDoubt,
        Occasion::Settled,
        Occasion::Digest,
        Occasion::Test,
    ];

    /// The occasions that a route may list. The others have keys of their own.
    pub const LISTED: [Occasion; 4] = [
        Occasion::Asked,
        Occasion::Decided,
        Occasion::InDoubt,
        Occasion::Settled,
    ];

    /// The word for it in settings and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Occasion::Asked => "asked",
            Occasion::Reminder => "reminder",
            Occasion::Escalated => "escalated",
            Occasion::Decided => "decided",
            Occasion::InDoubt => "in_doubt",
            Occasion::Settled => "settled",
            Occasion::Digest => "digest",
            Occasion::Test => "test",
        }
    }
}

impl fmt::Display for Occasion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Occasion {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Occasion, UnknownWord> {
        let found = Occasion::ALL.into_iter().find(|it| it.as_str() == text);
        found.ok_or_else(|| unknown(text, &Occasion::ALL.map(Occasion::as_str)))
    }
}

pub(super) fn unknown(found: &str, expected: &[&str]) -> UnknownWord {
    UnknownWord {
        expected: expected.join(", "),
        found: found.to_owned(),
    }
}
