//! A fault of a journal, and its place.

use std::fmt;

use uuid::Uuid;

/// A fault of a journal.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Finding {
    /// The stream, if known.
    pub session: Option<Uuid>,
    /// The record, if known.
    pub seq: Option<u64>,
    /// The fault.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.session, self.seq) {
            (Some(session), Some(seq)) => write!(f, "session {session} seq {seq}: {}", self.what),
            (Some(session), None) => write!(f, "session {session}: {}", self.what),
            (None, _) => f.write_str(&self.what),
        }
    }
}
