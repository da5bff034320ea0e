//! A place where a journal is not as it should be.

use std::fmt;

use uuid::Uuid;

/// Something that is wrong.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Finding {
    /// The stream, where it can be told.
    pub session: Option<Uuid>,
    /// The record, where it can be told.
    pub seq: Option<u64>,
    /// What is wrong.
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
