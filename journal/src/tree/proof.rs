//! Proofs of inclusion and of consistency: made as RFC 6962, section 2.1, defines them, and checked
//! as RFC 9162, sections 2.1.3.2 and 2.1.4.2, say.

use crate::Hash;

use super::Frontier;

/// The reason why a proof does not hold.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Disproof {
    /// The leaf or the older tree lies outside the tree.
    #[error("expected a place within the {size} leaves of the tree, found {place}")]
    Outside {
        /// The index of the leaf, or the size of the older tree.
        place: u64,
        /// The number of leaves of the tree.
        size: u64,
    },
    /// The proof has too many or too few hashes for trees of these sizes.
    #[error("expected another number of hashes for trees of these sizes, found {found}")]
    Length {
        /// The number of hashes in the proof.
        found: usize,
    },
    /// The hashes lead to another root.
    #[error("expected the root {expected}, the proof leads to {found}")]
    Root {
        /// The root of the tree.
        expected: Hash,
        /// The root to which the proof leads.
        found: Hash,
    },
}

/// Makes the proof that a leaf has this index in a tree of `size` leaves.
///
/// `subtree` returns the root of the full subtree with this first leaf and number of leaves. The
/// number is a power of two that divides the first index. The proof is empty if the leaf is outside
/// the tree or alone in it.
///
/// # Errors
/// Those of `subtree`.
pub fn inclusion<E>(
    index: u64,
    size: u64,
    subtree: &mut impl FnMut(u64, u64) -> Result<Hash, E>,
) -> Result<Vec<Hash>, E> {
    let mut path = Vec::new();
    let (mut first, mut count) = (0, size);
    // From the root down to the leaf; a proof goes the other way.
    while count > 1 && index < size {
        let left = split(count);
        if index < first + left {
            path.push(node(first + left, count - left, subtree)?);
            count = left;
        } else {
            path.push(node(first, left, subtree)?);
            (first, count) = (first + left, count - left);
        }
    }
    path.reverse();
    Ok(path)
}

/// Makes the proof that the tree of `older` leaves is the beginning of that of `newer` leaves.
///
/// `subtree` is that of [`inclusion`]. The proof is empty if one of both trees is empty, or both
/// are equal.
///
/// # Errors
/// Those of `subtree`.
pub fn consistency<E>(
    older: u64,
    newer: u64,
    subtree: &mut impl FnMut(u64, u64) -> Result<Hash, E>,
) -> Result<Vec<Hash>, E> {
    let mut path = Vec::new();
    if older == 0 || older >= newer {
        return Ok(path);
    }
    let (mut first, mut count) = (0, newer);
    while first + count != older {
        let left = split(count);
        if older <= first + left {
            path.push(node(first + left, count - left, subtree)?);
            count = left;
        } else {
            path.push(node(first, left, subtree)?);
            (first, count) = (first + left, count - left);
        }
    }
    // The reader knows the root of the whole older tree.
    if first > 0 {
        path.push(node(first, count, subtree)?);
    }
    path.reverse();
    Ok(path)
}

/// Checks that a leaf has this index in a tree with this size and root.
///
/// # Errors
/// A [`Disproof`].
pub fn verify_inclusion(
    leaf: Hash,
    index: u64,
    (size, root): (u64, Hash),
    path: &[Hash],
) -> Result<(), Disproof> {
    if index >= size {
        return Err(Disproof::Outside { place: index, size });
    }
    let length = Disproof::Length { found: path.len() };
    let (mut place, mut last, mut found) = (index, size - 1, leaf);
    for hash in path {
        if last == 0 {
            return Err(length);
        }
        if place & 1 == 1 || place == last {
            found = Hash::of_node(*hash, found);
            while place & 1 == 0 && place != 0 {
                (place, last) = (place >> 1, last >> 1);
            }
        } else {
            found = Hash::of_node(found, *hash);
        }
        (place, last) = (place >> 1, last >> 1);
    }
    if last != 0 {
        return Err(length);
    }
    same(root, found)
}

/// Checks that a tree is the beginning of another, each given by its size and its root.
///
/// # Errors
/// A [`Disproof`].
pub fn verify_consistency(
    (older, older_root): (u64, Hash),
    (newer, newer_root): (u64, Hash),
    path: &[Hash],
) -> Result<(), Disproof> {
    let length = Disproof::Length { found: path.len() };
    if older > newer {
        return Err(Disproof::Outside {
            place: older,
            size: newer,
        });
    }
    if older == 0 || older == newer {
        let expected = if older == 0 {
            Frontier::default().root()
        } else {
            newer_root
        };
        same(expected, older_root)?;
        return path.is_empty().then_some(()).ok_or(length);
    }
    let mut path = path.iter().copied();
    let first = match older.is_power_of_two() {
        true => older_root,
        false => path.next().ok_or(length)?,
    };
    let (mut place, mut last) = (older - 1, newer - 1);
    while place & 1 == 1 {
        (place, last) = (place >> 1, last >> 1);
    }
    let (mut found_older, mut found_newer) = (first, first);
    for hash in path {
        if last == 0 {
            return Err(length);
        }
        if place & 1 == 1 || place == last {
            found_older = Hash::of_node(hash, found_older);
            found_newer = Hash::of_node(hash, found_newer);
            while place & 1 == 0 && place != 0 {
                (place, last) = (place >> 1, last >> 1);
            }
        } else {
            found_newer = Hash::of_node(found_newer, hash);
        }
        (place, last) = (place >> 1, last >> 1);
    }
    if last != 0 {
        return Err(length);
    }
    same(older_root, found_older)?;
    same(newer_root, found_newer)
}

/// The root of the subtree with this first leaf and number of leaves; `None` outside the leaves.
pub fn node_of(leaves: &[Hash], first: u64, count: u64) -> Option<Hash> {
    let first = usize::try_from(first).ok()?;
    let end = first.checked_add(usize::try_from(count).ok()?)?;
    let leaves = leaves.get(first..end)?;
    Some(leaves.iter().copied().collect::<Frontier>().root())
}

/// The root of the subtree over `count` leaves from `first`, which need not be full.
fn node<E>(
    first: u64,
    count: u64,
    subtree: &mut impl FnMut(u64, u64) -> Result<Hash, E>,
) -> Result<Hash, E> {
    if count.is_power_of_two() {
        return subtree(first, count);
    }
    let left = split(count);
    let full = subtree(first, left)?;
    Ok(Hash::of_node(
        full,
        node(first + left, count - left, subtree)?,
    ))
}

/// The largest power of two below a count of at least two.
fn split(count: u64) -> u64 {
    count.next_power_of_two() / 2
}

fn same(expected: Hash, found: Hash) -> Result<(), Disproof> {
    let same = expected == found;
    same.then_some(()).ok_or(Disproof::Root { expected, found })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;

    fn leaves(count: u8) -> Vec<Hash> {
        (0..count).map(|byte| Hash::of_line(&[byte])).collect()
    }

    fn tree(leaves: &[Hash], size: u64) -> (u64, Hash) {
        (size, node_of(leaves, 0, size).unwrap())
    }

    fn proofs_of(
        leaves: &[Hash],
    ) -> impl FnMut(u64, u64) -> Result<Hash, std::convert::Infallible> {
        |first, count| {
            assert!(count.is_power_of_two() && first % count == 0);
            Ok(node_of(leaves, first, count).unwrap())
        }
    }

    #[test]
    fn each_leaf_is_proven_at_its_index_alone() {
        let leaves = leaves(40);
        for size in 1..=40 {
            let whole = tree(&leaves, size);
            for (index, leaf) in (0..size).zip(&leaves) {
                let Ok(path) = inclusion(index, size, &mut proofs_of(&leaves));
                assert_eq!(verify_inclusion(*leaf, index, whole, &path), Ok(()));
                let elsewhere = (0..=size).filter(|other| *other != index);
                for other in elsewhere {
                    let disproof = verify_inclusion(*leaf, other, whole, &path);
                    assert!(disproof.is_err(), "{index} as {other} of {size}");
                }
                for other in leaves.iter().filter(|other| *other != leaf) {
                    assert!(verify_inclusion(*other, index, whole, &path).is_err());
                }
                let longer = [&path[..], &[*leaf]].concat();
                assert!(verify_inclusion(*leaf, index, whole, &longer).is_err());
                if let Some((_, shorter)) = path.split_last() {
                    assert!(verify_inclusion(*leaf, index, whole, shorter).is_err());
                }
            }
        }
    }

    #[test]
    fn each_beginning_is_proven_and_no_other_tree() {
        let (leaves, mut altered) = (leaves(40), leaves(40));
        altered.rotate_left(1);
        for newer in 0..=40 {
            let whole = tree(&leaves, newer);
            for older in 0..=newer {
                let Ok(path) = consistency(older, newer, &mut proofs_of(&leaves));
                let beginning = tree(&leaves, older);
                assert_eq!(
                    verify_consistency(beginning, whole, &path),
                    Ok(()),
                    "{older} of {newer}"
                );
                let longer = [&path[..], &[whole.1]].concat();
                assert!(verify_consistency(beginning, whole, &longer).is_err());
                if let Some((_, shorter)) = path.split_last() {
                    assert!(verify_consistency(beginning, whole, shorter).is_err());
                }
                if older > 0 {
                    let other = tree(&altered, older);
                    assert!(
                        verify_consistency(other, whole, &path).is_err(),
                        "{older} of {newer}"
                    );
                    let other = tree(&altered, newer);
                    assert!(verify_consistency(beginning, other, &path).is_err());
                }
                if older < newer {
                    assert!(verify_consistency(whole, beginning, &path).is_err());
                }
            }
        }
    }
}
