//! The amount of content that a bundle discloses.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// The records of the sessions in scope that a bundle shows whole. Of the other ones it shows the
/// envelope: session, seq, time, kind, actor, hashes.
///
/// ```
/// use recount_bundle::Disclose;
/// assert_eq!("all".parse(), Ok(Disclose::All));
/// assert_eq!(Disclose::default(), Disclose::Approvals);
/// assert!("some".parse::<Disclose>().is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Disclose {
    /// No records, envelopes only. The page still names people, agents and tools.
    None,
    /// The records about calls that a person was asked about or that a standing leave allowed, and
    /// records about no call without words of a conversation. These have the external id and the
    /// labels of a session, and the reasons of people for pauses, ends of leaves and closings.
    #[default]
    Approvals,
    /// All records.
    All,
}

/// A text is no amount of content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected none, approvals or all, found {found:?}")]
pub struct UnknownDisclose {
    /// The text.
    pub found: String,
}

impl Disclose {
    /// Returns the name on the command line and in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Disclose::None => "none",
            Disclose::Approvals => "approvals",
            Disclose::All => "all",
        }
    }
}

impl fmt::Display for Disclose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Disclose {
    type Err = UnknownDisclose;

    fn from_str(text: &str) -> Result<Self, UnknownDisclose> {
        let all = [Disclose::None, Disclose::Approvals, Disclose::All];
        let found = all.into_iter().find(|it| it.as_str() == text);
        found.ok_or_else(|| UnknownDisclose {
            found: text.to_owned(),
        })
    }
}
