//! Statements about a journal that come from outside of it.

use recount_journal::Hash;
use recount_reads::OnRecord;

/// Statements about a journal that come from outside of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statements {
    /// The name of the journal, as the operator calls it.
    pub journal: Option<String>,
    /// The place where the keys that sign checkpoints live, in the words of the operator.
    pub keys_live: Option<String>,
    /// The number of records of a checkpoint from outside, of which this journal is a continuation.
    /// `Contents::anchor` sets it.
    pub anchored: Option<u64>,
    /// The access journal of the service, which says who read the sessions.
    pub access: Option<AccessJournal>,
}

/// An access journal as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessJournal {
    /// The number of its records.
    pub size: u64,
    /// The root of its tree.
    pub root: Hash,
    /// Its content.
    pub found: OnRecord,
}
