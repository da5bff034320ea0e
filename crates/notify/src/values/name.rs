//! The name of a sink.

use std::fmt;
use std::str::FromStr;

/// The maximum length of a name.
const CHARS_MAX: usize = 64;

/// The name of a sink. It is also the name of its file, and part of the ids of its notifications.
///
/// ```
/// use recount_notify::SinkName;
/// assert_eq!("on-call_2".parse::<SinkName>()?.as_str(), "on-call_2");
/// assert!("../x".parse::<SinkName>().is_err());
/// # Ok::<(), recount_notify::UnfitName>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SinkName(String);

/// The text is no name of a sink.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected 1 to 64 of a-z, 0-9, - and _ with a letter or digit first, found {found:?}")]
pub struct UnfitName {
    /// The text.
    pub found: String,
}

impl SinkName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SinkName {
    type Err = UnfitName;

    fn from_str(text: &str) -> Result<SinkName, UnfitName> {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let begins = text.chars().next().is_some_and(is_plain);
        let fits = text.chars().all(|c| is_plain(c) || matches!(c, '-' | '_'));
        match begins && fits && text.len() <= CHARS_MAX {
            true => Ok(SinkName(text.to_owned())),
            false => Err(UnfitName {
                found: text.chars().take(CHARS_MAX).collect(),
            }),
        }
    }
}

impl fmt::Display for SinkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
