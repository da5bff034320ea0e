//! The alignment of two lists: which items are in both.

use std::collections::BTreeSet;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// A pair of equal items, or an item of one list alone. The numbers are indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aligned {
    Both(usize, usize),
    OnlyA(usize),
    OnlyB(usize),
}

/// Aligns two lists in order, pairing equal items.
///
/// Only items that are in both lists are compared. The cost for lists with little in common is
/// close to the cost of sorting them. The cost for lists with much in common grows with their
/// differences.
pub(super) fn align<T: Ord + std::hash::Hash>(a: &[T], b: &[T]) -> Vec<Aligned> {
    let (places_a, places_b) = (places_of(a, b), places_of(b, a));
    let both_a: Vec<&T> = places_a.iter().filter_map(|at| a.get(*at)).collect();
    let both_b: Vec<&T> = places_b.iter().filter_map(|at| b.get(*at)).collect();
    let mut pairs = Vec::with_capacity(both_a.len().min(both_b.len()));
    for op in capture_diff_slices(Algorithm::Myers, &both_a, &both_b) {
        match op {
            DiffOp::Equal { .. } => {
                let equal = op.old_range().zip(op.new_range());
                pairs.extend(
                    equal.filter_map(|(at, to)| Some((*places_a.get(at)?, *places_b.get(to)?))),
                );
            }
            DiffOp::Delete { .. } | DiffOp::Insert { .. } | DiffOp::Replace { .. } => {}
        }
    }
    let mut aligned = Vec::with_capacity(a.len().max(b.len()));
    weave(0..a.len(), 0..b.len(), pairs, &mut aligned);
    aligned
}

/// The indices of the items that the other list has, too.
fn places_of<T: Ord>(list: &[T], other: &[T]) -> Vec<usize> {
    let other: BTreeSet<&T> = other.iter().collect();
    let known = list.iter().enumerate();
    let known = known.filter(|(_, it)| other.contains(it));
    known.map(|(at, _)| at).collect()
}

/// Merges two lists of indices at their pairs. Unpaired indices come before the next pair.
fn weave(
    a: impl IntoIterator<Item = usize>,
    b: impl IntoIterator<Item = usize>,
    pairs: Vec<(usize, usize)>,
    aligned: &mut Vec<Aligned>,
) {
    let (mut a, mut b) = (a.into_iter().peekable(), b.into_iter().peekable());
    for (at, to) in pairs {
        while let Some(before) = a.next_if(|it| *it < at) {
            aligned.push(Aligned::OnlyA(before));
        }
        while let Some(before) = b.next_if(|it| *it < to) {
            aligned.push(Aligned::OnlyB(before));
        }
        a.next();
        b.next();
        aligned.push(Aligned::Both(at, to));
    }
    aligned.extend(a.map(Aligned::OnlyA));
    aligned.extend(b.map(Aligned::OnlyB));
}

/// Aligns the unpaired items between two pairs again. `again` receives their indices on both sides
/// and returns the pairs among them, in order.
pub(super) fn between(
    aligned: &[Aligned],
    again: impl Fn(&[usize], &[usize]) -> Vec<(usize, usize)>,
) -> Vec<Aligned> {
    let mut all = Vec::with_capacity(aligned.len());
    let both = |it: &Aligned| matches!(it, Aligned::Both(_, _));
    for run in aligned.chunk_by(|one, next| !both(one) && !both(next)) {
        let (mut only_a, mut only_b) = (Vec::new(), Vec::new());
        for it in run {
            match *it {
                Aligned::Both(_, _) => all.push(*it),
                Aligned::OnlyA(at) => only_a.push(at),
                Aligned::OnlyB(at) => only_b.push(at),
            }
        }
        let pairs = if only_a.is_empty() || only_b.is_empty() {
            Vec::new()
        } else {
            again(&only_a, &only_b)
        };
        weave(only_a, only_b, pairs, &mut all);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::Aligned::{Both, OnlyA, OnlyB};
    use super::*;

    #[test]
    fn equal_items_stay_together_whatever_comes_between_them() {
        assert_eq!(
            align(&["a", "b", "c"], &["a", "x", "c"]),
            [Both(0, 0), OnlyA(1), OnlyB(1), Both(2, 2)]
        );
        assert_eq!(align(&["a"], &["x", "a"]), [OnlyB(0), Both(0, 1)]);
        assert_eq!(align(&["a"], &[]), [OnlyA(0)]);
    }

    #[test]
    fn long_lists_with_little_in_common_are_aligned() {
        // Comparing each item with each other one would take ten thousand million steps.
        let (a, b): (Vec<u32>, Vec<u32>) = (0..100_000)
            .map(|n| (2 * n, if n == 7 { 14 } else { 2 * n + 1 }))
            .unzip();
        let aligned = align(&a, &b);
        let both = aligned.iter().filter(|it| matches!(it, Both(_, _)));
        assert_eq!(both.collect::<Vec<_>>(), [&Both(7, 7)]);
        assert_eq!(aligned.len(), 199_999);
    }

    #[test]
    fn unpaired_items_between_pairs_are_aligned_again() {
        let aligned = align(&[10, 21, 30], &[10, 11, 22, 23, 30]);
        let again = between(&aligned, |a, b| {
            assert_eq!((a, b), (&[1][..], &[1, 2, 3][..]));
            vec![(1, 2)]
        });
        assert_eq!(
            again,
            [Both(0, 0), OnlyB(1), Both(1, 2), OnlyB(3), Both(2, 4)]
        );
    }
}
