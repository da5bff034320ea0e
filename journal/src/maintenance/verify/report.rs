//! The report of a verification.

use std::collections::BTreeMap;

use uuid::Uuid;

use crate::store::survey::Finding;
use crate::{Hash, Head};

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
    /// The tree hash over all records, stream after stream in the order of their ids for a
    /// directory, in the order of the file for an export. An export of a whole journal is in that
    /// order, so both are the same.
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
