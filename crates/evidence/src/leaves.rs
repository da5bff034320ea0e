//! The leaves of a tree in memory, for proofs.

use recount_journal::tree::{Frontier, consistency, inclusion, node_of};
use recount_journal::{Error, Hash, Journal};

/// The number of leaves of a subtree whose root is kept: 256, and 256 of these.
const KEPT: [u64; 2] = [1 << 8, 1 << 16];

/// All leaves of a journal's tree, with the roots of larger subtrees.
///
/// It takes about 32 bytes of memory for each record. A proof then costs some hundred hashes.
///
/// ```
/// use recount_evidence::Leaves;
/// use recount_journal::{Hash, tree::verify_inclusion};
///
/// let leaves: Leaves = (0..1000_u32).map(|n| Hash::of_line(&n.to_be_bytes())).collect();
/// let path = leaves.inclusion(17, 900).unwrap();
/// let root = leaves.root_at(900).unwrap();
/// assert!(verify_inclusion(leaves.get(17).unwrap(), 17, (900, root), &path).is_ok());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Leaves {
    leaves: Vec<Hash>,
    /// The roots of the full subtrees of each size in `KEPT`.
    roots: [Vec<Hash>; 2],
}

impl Leaves {
    /// Reads all records of a journal, up to its last commit at this time.
    ///
    /// # Errors
    /// The errors of reading the journal.
    pub async fn of(journal: &dyn Journal) -> Result<Self, Error> {
        let mut leaves = Self::default();
        leaves.read_after(journal, 0).await?;
        Ok(leaves)
    }

    /// Reads the records after a position, up to the last commit at this time.
    pub(crate) async fn read_after(
        &mut self,
        journal: &dyn Journal,
        mut position: u64,
    ) -> Result<(), Error> {
        let end = journal.position().await?;
        while position < end {
            let commit = journal.follow(position).await?;
            let lines = commit.appends.iter().flat_map(|(_, lines)| lines);
            self.extend(lines.map(recount_journal::Line::leaf));
            position = commit.position;
        }
        Ok(())
    }

    /// The number of leaves.
    pub fn size(&self) -> u64 {
        self.leaves.len() as u64
    }

    /// The leaf with an index.
    pub fn get(&self, index: u64) -> Option<Hash> {
        self.leaves.get(usize::try_from(index).ok()?).copied()
    }

    /// The index of a leaf. Looks at each leaf, the latest first.
    pub fn index_of(&self, leaf: Hash) -> Option<u64> {
        let at = self.leaves.iter().rposition(|it| *it == leaf)?;
        Some(at as u64)
    }

    /// The root of the tree when it had `size` leaves; `None` if it never had so many.
    pub fn root_at(&self, size: u64) -> Option<Hash> {
        let mut subtrees = Vec::new();
        let mut first = 0;
        for bit in (0..u64::BITS).rev().map(|bit| 1 << bit) {
            if size & bit > 0 {
                subtrees.push(self.subtree(first, bit)?);
                first += bit;
            }
        }
        Some(Frontier::resume(size, &subtrees)?.root())
    }

    /// The proof that a leaf has this index in the tree of `size` leaves.
    pub fn inclusion(&self, index: u64, size: u64) -> Option<Vec<Hash>> {
        let fits = index < size && size <= self.size();
        let mut subtree = |first, count| self.subtree(first, count).ok_or(());
        fits.then(|| inclusion(index, size, &mut subtree).ok())?
    }

    /// The proof that the tree of `older` leaves is the beginning of that of `newer` leaves.
    pub fn consistency(&self, older: u64, newer: u64) -> Option<Vec<Hash>> {
        let fits = older <= newer && newer <= self.size();
        let mut subtree = |first, count| self.subtree(first, count).ok_or(());
        fits.then(|| consistency(older, newer, &mut subtree).ok())?
    }

    /// The root of a full subtree.
    fn subtree(&self, first: u64, count: u64) -> Option<Hash> {
        let [small, large] = &self.roots;
        let kept = [(KEPT[1], large), (KEPT[0], small)];
        for (size, roots) in kept {
            if count >= size && first.is_multiple_of(size) && count.is_multiple_of(size) {
                return node_of(roots, first / size, count / size);
            }
        }
        node_of(&self.leaves, first, count)
    }

    fn push(&mut self, leaf: Hash) {
        self.leaves.push(leaf);
        let size = self.size();
        for (level, kept) in KEPT.into_iter().enumerate() {
            if !size.is_multiple_of(kept) {
                break;
            }
            let below = match level {
                0 => node_of(&self.leaves, size - kept, kept),
                _ => node_of(&self.roots[0], (size - kept) / KEPT[0], kept / KEPT[0]),
            };
            if let (Some(root), Some(roots)) = (below, self.roots.get_mut(level)) {
                roots.push(root);
            }
        }
    }
}

impl Extend<Hash> for Leaves {
    fn extend<I: IntoIterator<Item = Hash>>(&mut self, leaves: I) {
        leaves.into_iter().for_each(|leaf| self.push(leaf));
    }
}

impl FromIterator<Hash> for Leaves {
    fn from_iter<I: IntoIterator<Item = Hash>>(leaves: I) -> Self {
        let mut all = Self::default();
        all.extend(leaves);
        all
    }
}
