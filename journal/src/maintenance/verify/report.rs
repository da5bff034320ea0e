//! The report of a verification.

use std::collections::BTreeMap;

use uuid::Uuid;

use crate::store::survey::{Finding, Streams};
use crate::{Hash, Head};

/// The verdict of a verification about the records that the report counts.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Integrity {
    /// A fault was found, or the root differs from the one that was kept elsewhere.
    Damaged,
    /// All hashes, chains and witnesses agree. Nothing from outside confirms them. A consistent
    /// rewrite passes, for example an export without one session and with a new trailer.
    Consistent,
    /// Consistent, and the root equals the one that was kept elsewhere.
    Anchored,
}

/// The result of a verification.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The number of records, including the system stream.
    pub records: u64,
    /// The number of sessions, without the system stream.
    pub sessions: u64,
    /// The number of different objects.
    pub objects: u64,
    /// The tree hash over all records. A directory is hashed in the order of its log, an export in
    /// the order of the file. An export of a whole journal of format 2 has the same order, so both
    /// roots are equal.
    pub root: Hash,
    /// The tree hash over all records, stream after stream in the order of their ids. Before format
    /// 2 of exports this was the root of a journal.
    pub root_by_stream: Hash,
    /// The number of leaves of the whole tree, if the root is that of a journal: that of a
    /// checkpoint of this size.
    pub size: Option<u64>,
    /// The number of records of which the file has only the hash and what its writer shows of them.
    pub withheld: u64,
    /// The earliest and the latest time of a record, in microseconds since 1970; `None` without
    /// records.
    pub span_us: Option<(i64, i64)>,
    /// The root that was kept elsewhere, if one was given to [`against`](Report::against).
    pub anchor: Option<Hash>,
    /// The heads of all streams.
    pub heads: BTreeMap<Uuid, Head>,
    /// The faults; empty for a sound journal.
    pub findings: Vec<Finding>,
    /// Remarks that are no damage.
    pub notes: Vec<String>,
}

impl Report {
    /// The report on streams that were read.
    pub(super) fn of(streams: Streams) -> Self {
        let heads = streams.heads();
        Self {
            records: streams.records,
            sessions: heads.keys().filter(|session| !session.is_nil()).count() as u64,
            objects: 0,
            root: streams.tree.root(),
            root_by_stream: streams.root_by_stream(),
            size: Some(streams.tree.size()),
            withheld: 0,
            span_us: streams.span_us,
            anchor: None,
            heads,
            findings: streams.findings,
            notes: Vec::new(),
        }
    }

    /// True if there is no fault.
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

    /// Compares the report with a root that was kept elsewhere, of either order. A different root
    /// is a finding.
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
        if self.root != root && self.root_by_stream != root {
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
