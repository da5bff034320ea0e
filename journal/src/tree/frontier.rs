//! The root of a tree that grows leaf by leaf, from the roots of its full subtrees.

use sha2::{Digest, Sha256};

use crate::Hash;

/// The maximum number of leaves, so that no size overflows.
const LEAVES_MAX: u64 = 1 << 62;

/// A tree that takes leaves one by one and keeps only the roots of its full subtrees.
///
/// A tree of *n* leaves has as many of them as *n* has binary ones, so a frontier is small enough
/// to be kept and continued.
///
/// ```
/// use recount_journal::Hash;
/// use recount_journal::tree::Frontier;
///
/// let mut tree = Frontier::default();
/// tree.push(Hash::of_line(b"first"));
/// assert_eq!((tree.size(), tree.root()), (1, Hash::of_line(b"first")));
/// let kept: Vec<Hash> = tree.subtrees().collect();
/// assert_eq!(Frontier::resume(1, &kept), Some(tree));
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Frontier {
    /// The number of leaves and the root of each full subtree, the largest first.
    full: Vec<(u64, Hash)>,
}

impl Frontier {
    /// Continues a tree of `size` leaves from the roots of its full subtrees, the largest first.
    /// `None` if a tree of this size has another number of them.
    pub fn resume(size: u64, subtrees: &[Hash]) -> Option<Self> {
        let sizes = (0..u64::BITS).rev().map(|bit| size & (1 << bit));
        let sizes: Vec<u64> = sizes.filter(|size| *size > 0).collect();
        let full = || sizes.iter().copied().zip(subtrees.iter().copied());
        (sizes.len() == subtrees.len()).then(|| Self {
            full: full().collect(),
        })
    }

    /// Adds the next leaf.
    pub fn push(&mut self, leaf: Hash) {
        self.add(1, leaf);
    }

    /// Adds the next leaves, of which only the root of their full subtree is known. Returns false,
    /// and adds nothing, if no full subtree of so many leaves begins here.
    ///
    /// ```
    /// use recount_journal::Hash;
    /// use recount_journal::tree::Frontier;
    ///
    /// let leaves: Vec<Hash> = (0_u8..6).map(|n| Hash::of_line(&[n])).collect();
    /// let whole: Frontier = leaves.iter().copied().collect();
    /// let first: Frontier = leaves.iter().copied().take(4).collect();
    /// let mut tree = Frontier::default();
    /// assert!(tree.push_subtree(4, first.root()));
    /// assert!(!tree.push_subtree(8, first.root()));
    /// tree.extend(leaves.into_iter().skip(4));
    /// assert_eq!(tree, whole);
    /// ```
    pub fn push_subtree(&mut self, leaves: u64, root: Hash) -> bool {
        let size = self.size();
        let fits = leaves.is_power_of_two()
            && size.is_multiple_of(leaves)
            && size.checked_add(leaves).is_some_and(|it| it <= LEAVES_MAX);
        if fits {
            self.add(leaves, root);
        }
        fits
    }

    fn add(&mut self, leaves: u64, root: Hash) {
        let mut node = (leaves, root);
        while let Some((size, left)) = self.full.pop_if(|(size, _)| *size == node.0) {
            node = (size * 2, Hash::of_node(left, node.1));
        }
        self.full.push(node);
    }

    /// The number of leaves.
    pub fn size(&self) -> u64 {
        self.full.iter().map(|(size, _)| size).sum()
    }

    /// The roots of the full subtrees, the largest first.
    pub fn subtrees(&self) -> impl Iterator<Item = Hash> {
        self.full.iter().map(|(_, root)| *root)
    }

    /// The tree hash. That of an empty tree is the hash of nothing.
    pub fn root(&self) -> Hash {
        let mut subtrees = self.full.iter().rev().map(|(_, root)| *root);
        let Some(last) = subtrees.next() else {
            return Hash::from_bytes(Sha256::digest([]).into());
        };
        subtrees.fold(last, |right, left| Hash::of_node(left, right))
    }
}

impl Extend<Hash> for Frontier {
    fn extend<I: IntoIterator<Item = Hash>>(&mut self, leaves: I) {
        leaves.into_iter().for_each(|leaf| self.push(leaf));
    }
}

impl FromIterator<Hash> for Frontier {
    fn from_iter<I: IntoIterator<Item = Hash>>(leaves: I) -> Self {
        let mut tree = Self::default();
        tree.extend(leaves);
        tree
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition of RFC 6962: split at the largest power of two below the count.
    #[expect(
        clippy::indexing_slicing,
        reason = "the lengths are those of the definition"
    )]
    fn defined(leaves: &[Hash]) -> Hash {
        match leaves {
            [] => Hash::of_object(b""),
            [leaf] => *leaf,
            _ => {
                let half = leaves.len().next_power_of_two() / 2;
                Hash::of_node(defined(&leaves[..half]), defined(&leaves[half..]))
            }
        }
    }

    #[test]
    fn root_follows_definition() {
        let leaves: Vec<Hash> = (0_u8..70).map(|byte| Hash::of_line(&[byte])).collect();
        for count in 0..=leaves.len() {
            let some: Vec<Hash> = leaves.iter().take(count).copied().collect();
            let tree: Frontier = some.iter().copied().collect();
            assert_eq!(tree.root(), defined(&some), "{count} leaves");
            assert_eq!(tree.size(), count as u64);
            let kept: Vec<Hash> = tree.subtrees().collect();
            assert_eq!(Frontier::resume(count as u64, &kept), Some(tree));
        }
    }
}
