//! The content that spans contain beside names, ids and times.

use std::fmt;
use std::str::FromStr;

/// The content that spans contain beside names, ids and times. By default it is none.
///
/// Spans of sealed sessions never contain any of it: a collector keeps what it received after the
/// key of an erased session is gone.
///
/// ```
/// use recount_traces::Content;
/// let content = Content::of(["arguments", "people"])?;
/// assert!(content.arguments && content.people && !content.results);
/// assert!(Content::of(["everything"]).is_err());
/// # Ok::<(), recount_traces::UnknownContent>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// The arguments of calls. Sealed arguments stay sealed.
    pub arguments: bool,
    /// The results of calls.
    pub results: bool,
    /// The names of people. Without it, an opaque reference stands for each.
    pub people: bool,
    /// The external id and the labels of the session.
    pub labels: bool,
}

/// The text names no content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownContent {
    /// The text.
    pub found: String,
}

impl Content {
    /// The names of all contents.
    pub const NAMES: [&str; 4] = ["arguments", "results", "people", "labels"];

    /// Returns the content with these names.
    ///
    /// # Errors
    /// If a name is not one of [`NAMES`](Content::NAMES).
    pub fn of<'n>(names: impl IntoIterator<Item = &'n str>) -> Result<Content, UnknownContent> {
        let mut content = Content::default();
        for name in names {
            let part = match name {
                "arguments" => &mut content.arguments,
                "results" => &mut content.results,
                "people" => &mut content.people,
                "labels" => &mut content.labels,
                _ => {
                    let found = name.to_owned();
                    return Err(UnknownContent { found });
                }
            };
            *part = true;
        }
        Ok(content)
    }
}

impl FromStr for Content {
    type Err = UnknownContent;

    /// Reads names that are separated by commas.
    fn from_str(text: &str) -> Result<Content, UnknownContent> {
        Content::of(text.split(',').map(str::trim).filter(|it| !it.is_empty()))
    }
}

impl fmt::Display for UnknownContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Content::NAMES.join(", ");
        write!(f, "expected one of {names}, found {:?}", self.found)
    }
}

impl std::error::Error for UnknownContent {}
