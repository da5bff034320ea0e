//! The root over records in order: the tree hash of RFC 6962 over their leaf hashes.

use sha2::{Digest, Sha256};

use crate::Hash;

/// A tree hash that takes leaves one by one and keeps only the roots of full subtrees.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    /// The number of leaves and the root of each full subtree, the largest first.
    full: Vec<(u64, Hash)>,
}

impl Tree {
    pub(crate) fn push(&mut self, leaf: Hash) {
        let mut node = (1, leaf);
        while let Some((size, left)) = self.full.pop_if(|(size, _)| *size == node.0) {
            node = (size * 2, Hash::of_node(left, node.1));
        }
        self.full.push(node);
    }

    pub(crate) fn root(&self) -> Hash {
        let mut subtrees = self.full.iter().rev().map(|(_, root)| *root);
        let Some(last) = subtrees.next() else {
            return Hash::from_bytes(Sha256::digest([]).into());
        };
        subtrees.fold(last, |right, left| Hash::of_node(left, right))
    }
}

impl Extend<Hash> for Tree {
    fn extend<I: IntoIterator<Item = Hash>>(&mut self, leaves: I) {
        leaves.into_iter().for_each(|leaf| self.push(leaf));
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
            let mut tree = Tree::default();
            let some: Vec<Hash> = leaves.iter().take(count).copied().collect();
            tree.extend(some.clone());
            assert_eq!(tree.root(), defined(&some), "{count} leaves");
        }
    }
}
