//! What is known about a journal beside its records.

use recount_evidence::{Checkpoint, Leaves};

use crate::contents::Contents;

/// What is known about a journal beside its records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statements {
    /// The name of the journal, as the operator calls it.
    pub journal: Option<String>,
    /// The place where the keys that sign checkpoints live, in the words of the operator.
    pub keys_live: Option<String>,
    /// The number of records of a checkpoint from outside, of which this journal is a continuation.
    /// [`Contents::anchor`] sets it.
    pub anchored: Option<u64>,
}

impl Contents {
    /// Notes that the journal continues a checkpoint from outside. Returns false if it does not:
    /// the journal was rewritten, or it is another one.
    ///
    /// `leaves` are those of the whole journal. Signatures are not checked.
    pub fn anchor(&mut self, checkpoint: &Checkpoint, leaves: &Leaves) -> bool {
        let (size, root) = checkpoint.tree();
        let continues = leaves.root_at(size) == Some(root);
        if continues {
            self.statements.anchored = Some(size);
        }
        continues
    }
}
