//! Statements about a journal that come from outside of it.

/// Statements about a journal that come from outside of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statements {
    /// The name of the journal, as the operator calls it.
    pub journal: Option<String>,
    /// The place where the keys that sign checkpoints live, in the words of the operator.
    pub keys_live: Option<String>,
    /// The number of records of a checkpoint from outside, of which this journal is a continuation.
    /// `Contents::anchor` sets it.
    pub anchored: Option<u64>,
}
