//! The state in which an opening found a journal.

use std::fmt;

/// How the journal was found.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Opened {
    /// What went before.
    pub after: After,
    /// What became of the index.
    pub index: IndexState,
    /// The records found, those of the system stream too.
    pub records: u64,
    /// Bytes of a torn write that was never acknowledged, cut off the end of the log.
    pub cut_bytes: u64,
    /// True if the whole log was read. It is not after a clean close that every file still agrees
    /// with.
    pub read_whole: bool,
}

/// What went before an opening.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum After {
    /// Nothing; the journal is new.
    New,
    /// The journal was closed.
    Clean,
    /// The process ended without closing it.
    Crash,
}

/// What an opening made of the index.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum IndexState {
    /// It held everything.
    Kept,
    /// So many commits of the log were added.
    CaughtUp(u64),
    /// It was made again from the log, for this reason.
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
