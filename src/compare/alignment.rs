//! Which items of two lists are the same ones.

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Items of two lists, by their places: both sides of one, or what only one list has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aligned {
    Both(usize, usize),
    OnlyA(usize),
    OnlyB(usize),
}

/// Aligns two lists in order: what is equal is the same.
pub(super) fn align<T: Ord + std::hash::Hash>(a: &[T], b: &[T]) -> Vec<Aligned> {
    let mut aligned = Vec::with_capacity(a.len().max(b.len()));
    for op in capture_diff_slices(Algorithm::Myers, a, b) {
        let (of_a, of_b) = (op.old_range(), op.new_range());
        match op {
            DiffOp::Equal { .. } => {
                aligned.extend(of_a.zip(of_b).map(|(at, to)| Aligned::Both(at, to)));
            }
            DiffOp::Delete { .. } | DiffOp::Insert { .. } | DiffOp::Replace { .. } => {
                aligned.extend(of_a.map(Aligned::OnlyA));
                aligned.extend(of_b.map(Aligned::OnlyB));
            }
        }
    }
    aligned
}

/// Looks again at what stands between the items that both lists have. `again` is given the places on both sides and says which of
/// them belong together, in order.
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
        let (mut only_a, mut only_b) =
            (only_a.into_iter().peekable(), only_b.into_iter().peekable());
        for (at, to) in pairs {
            while let Some(before) = only_a.next_if(|it| *it < at) {
                all.push(Aligned::OnlyA(before));
            }
            while let Some(before) = only_b.next_if(|it| *it < to) {
                all.push(Aligned::OnlyB(before));
            }
            (only_a.next(), only_b.next());
            all.push(Aligned::Both(at, to));
        }
        all.extend(only_a.map(Aligned::OnlyA));
        all.extend(only_b.map(Aligned::OnlyB));
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
    fn between_them_what_belongs_together_is_found_again() {
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
