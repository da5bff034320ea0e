//! The state in which an opening found a journal.

use std::fmt;

/// The state in which the journal was found.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Opened {
    /// The end of the last use.
    pub after: After,
    /// The state of the index.
    pub index: IndexState,
    /// The number of records found, including the system stream.
    pub records: u64,
    /// The bytes of an unacknowledged torn write that were cut off the end of the log.
    pub cut_bytes: u64,
    /// True if the whole log was read. It is false after a clean close without later changes.
    pub read_whole: bool,
}

/// The end of the last use before an opening.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum After {
    /// None; the journal is new.
    New,
    /// The journal was closed.
    Clean,
    /// The process ended without closing it.
    Crash,
}

/// The state of the index at an opening.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum IndexState {
    /// The index had everything.
    Kept,
    /// The index lacked this many commits, which were added.
    CaughtUp(u64),
    /// The index was rebuilt from the log, for this reason.
    Rebuilt(String),
}

impl fmt::Display for IndexState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kept => f.write_str("kept"),
            Self::CaughtUp(commits) => write!(f, "caught up by {commits} commits"),
            Self::Rebuilt(why) => write!(f, "rebuilt: {why}"),
        }
    }
}
