//! The checkpoints of a bundle.

use recount::session::Timestamp;
use recount_evidence::{Leaves, Recorded};

use crate::contents::Contents;

/// The checkpoints on record that sign a tree of these records, oldest first.
pub(super) struct Signed<'c> {
    pub(super) all: Vec<&'c Recorded>,
    /// The number of checkpoints on record that sign another tree. An imported journal has those of
    /// the original one.
    pub(super) foreign: u64,
}

impl<'c> Signed<'c> {
    pub(super) fn of(contents: &'c Contents, leaves: &Leaves) -> Signed<'c> {
        let on_record = &contents.own.checkpoints;
        let is_ours = |it: &&Recorded| {
            let (size, root) = it.checkpoint.tree();
            leaves.root_at(size) == Some(root)
        };
        let all: Vec<_> = on_record.iter().filter(is_ours).collect();
        Signed {
            foreign: (on_record.len() - all.len()) as u64,
            all,
        }
    }

    /// The latest checkpoint, which the proofs lead to.
    pub(super) fn latest(&self) -> Option<&'c Recorded> {
        self.all.iter().copied().max_by_key(|it| it.checkpoint.size)
    }

    /// The checkpoints within the time of the scope, and the one before it.
    pub(super) fn in_scope(&self, contents: &Contents) -> Vec<&'c Recorded> {
        let scope = &contents.request.scope;
        let is_before = |it: &&Recorded| scope.since.is_some_and(|since| it.at_us < since.0);
        let before = self.all.iter().copied().rfind(is_before);
        let mut found: Vec<_> = before.into_iter().collect();
        let within = |it: &&Recorded| scope.covers(Timestamp(it.at_us));
        found.extend(self.all.iter().copied().filter(within));
        found
    }
}
