//! The places of records in the tree of a journal.

use std::collections::BTreeMap;

use recount::session::{Seq, SessionId};
use recount_evidence::{Leaves, Recorded};
use recount_journal::{Error, Journal};
use uuid::Uuid;

/// The leaf indexes of the records in scope, and the records that a checkpoint covers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The leaf index of each record of a session, in the order of its records.
    leaves: BTreeMap<SessionId, Vec<u64>>,
    /// The number of records under the latest checkpoint on record that signs this tree.
    signed: Option<u64>,
}

impl Places {
    /// Reads the places of the records of these sessions and of the journal's own stream.
    ///
    /// # Errors
    /// The errors of reading the journal.
    pub(crate) async fn of(
        journal: &dyn Journal,
        leaves: &Leaves,
        checkpoints: &[Recorded],
        sessions: impl Iterator<Item = SessionId>,
    ) -> Result<Places, Error> {
        let trees = checkpoints.iter().map(|it| it.checkpoint.tree());
        let ours = trees.filter(|(size, root)| leaves.root_at(*size) == Some(*root));
        let wanted = sessions.chain([SessionId(Uuid::nil())]);
        let mut places = Places {
            leaves: wanted.map(|id| (id, Vec::new())).collect(),
            signed: ours.map(|(size, _)| size).max(),
        };
        let (mut position, mut leaf) = (0, 0);
        while leaf < leaves.size() {
            let commit = journal.follow(position).await?;
            for (stream, lines) in &commit.appends {
                let after = leaf + lines.len() as u64;
                if let Some(known) = places.leaves.get_mut(&SessionId(*stream)) {
                    known.extend(leaf..after);
                }
                leaf = after;
            }
            position = commit.position;
        }
        Ok(places)
    }

    /// Returns the leaf index of a record in scope.
    #[must_use]
    pub fn leaf(&self, session: SessionId, seq: Seq) -> Option<u64> {
        let at = usize::try_from(seq.0.checked_sub(1)?).ok()?;
        self.leaves.get(&session)?.get(at).copied()
    }

    /// Returns the number of records under the latest checkpoint on record that signs this tree.
    #[must_use]
    pub fn signed(&self) -> Option<u64> {
        self.signed
    }

    /// True if a checkpoint on record covers the record.
    #[must_use]
    pub fn is_signed(&self, session: SessionId, seq: Seq) -> bool {
        let leaf = self.leaf(session, seq);
        leaf.zip(self.signed)
            .is_some_and(|(leaf, signed)| leaf < signed)
    }
}
