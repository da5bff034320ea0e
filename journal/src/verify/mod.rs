//! Verifies a journal's directory or an exported file, and reports everything that is wrong.
//!
//! Who rewrites records and everything that vouches for them alike, log and index or file and trailer, is caught only
//! by a head or root kept elsewhere. Verification does not know what a record means.

mod directory;
pub(crate) mod export;
mod streams;
pub(crate) mod survey;

use std::collections::BTreeMap;

use uuid::Uuid;

pub(crate) use directory::INDEX_MISSING;
pub use directory::{directory, insecure_directory};
pub use export::{export, export_naming};

use crate::{Hash, Head};

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

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.session, self.seq) {
            (Some(session), Some(seq)) => write!(f, "session {session} seq {seq}: {}", self.what),
            (Some(session), None) => write!(f, "session {session}: {}", self.what),
            (None, _) => f.write_str(&self.what),
        }
    }
}

/// What a verification found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// Records read, those of the system stream too.
    pub records: u64,
    /// Sessions, without the system stream.
    pub sessions: u64,
    /// Different objects.
    pub objects: u64,
    /// The tree hash over all records, stream after stream in the order of their ids for a directory, in the order of the
    /// file for an export. An export of a whole journal is in that order, so both are the same.
    pub root: Hash,
    /// The ends of all streams.
    pub heads: BTreeMap<Uuid, Head>,
    /// Everything that is wrong; empty when all is well.
    pub findings: Vec<Finding>,
    /// What is worth knowing and no damage.
    pub notes: Vec<String>,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }
}
