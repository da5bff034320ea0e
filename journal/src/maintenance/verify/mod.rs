//! Verifies a journal's directory or an exported file, and reports everything that is wrong.
//!
//! A forger who rewrites records and everything that vouches for them alike, log and index or file
//! and trailer, is caught only by a root kept elsewhere: [`Report::against`]. Verification does not
//! know what a record means.

mod directory;
pub(crate) mod export;

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

/// The verdict of a verification: each is about the records that the report counts, no more.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Integrity {
    /// Something is wrong, or the root is not the one that was kept elsewhere.
    Damaged,
    /// Every hash, chain and witness agrees. Nothing from outside vouches for them, so a rewrite of
    /// all of them alike, such as a session taken out of an export with its trailer made anew,
    /// passes.
    Consistent,
    /// Consistent, and the root is the one that was kept elsewhere.
    Anchored,
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
    /// The earliest and the latest time of a record, in microseconds since 1970 in UTC; `None`
    /// without any record.
    pub span_us: Option<(i64, i64)>,
    /// The root that was kept elsewhere, if one was given to [`against`](Report::against).
    pub anchor: Option<Hash>,
    /// The ends of all streams.
    pub heads: BTreeMap<Uuid, Head>,
    /// Everything that is wrong; empty when all is well.
    pub findings: Vec<Finding>,
    /// What is worth knowing and no damage.
    pub notes: Vec<String>,
}

impl Report {
    /// True if nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }

    /// The verdict about the records that were read.
    pub fn integrity(&self) -> Integrity {
        match (self.is_sound(), self.anchor) {
            (false, _) => Integrity::Damaged,
            (true, None) => Integrity::Consistent,
            (true, Some(_)) => Integrity::Anchored,
        }
    }

    /// The report, compared with a root that was kept elsewhere. Another root is a finding.
    ///
    /// ```
    /// use recount_journal::verify::{self, Integrity};
    /// use recount_journal::{Hash, MemoryJournal, block_on, export};
    ///
    /// let (journal, mut file) = (MemoryJournal::new(), Vec::new());
    /// let kept = block_on(export(&journal, None, &mut file))?.root;
    /// let report = verify::export(&file[..])?;
    /// assert_eq!(report.integrity(), Integrity::Consistent);
    /// assert_eq!(report.clone().against(kept).integrity(), Integrity::Anchored);
    /// assert_eq!(report.against(Hash::ZERO).integrity(), Integrity::Damaged);
    /// # Ok::<(), recount_journal::Error>(())
    /// ```
    #[must_use]
    pub fn against(mut self, root: Hash) -> Report {
        if self.root != root {
            self.findings.push(Finding {
                session: None,
                seq: None,
                what: format!(
                    "expected the root {root}, which was kept elsewhere, found {}: records were \
                     altered or taken away, or have been added since",
                    self.root
                ),
            });
        }
        self.anchor = Some(root);
        self
    }
}
