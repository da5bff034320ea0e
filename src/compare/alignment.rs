//! Which items of two lists are the same ones.

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Items of two lists, by their places: both sides of one, or what only one list has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aligned {
    Both(usize, usize),
    OnlyA(usize),
    OnlyB(usize),
}

/// Aligns two lists in order. What is equal is the same; between such items, those that `alike` says are the same, too, each
/// with the first that is left.
pub(super) fn align<T: Ord + std::hash::Hash>(
    a: &[T],
    b: &[T],
    alike: impl Fn(usize, usize) -> bool,
) -> Vec<Aligned> {
    let mut aligned = Vec::with_capacity(a.len().max(b.len()));
    for op in capture_diff_slices(Algorithm::Myers, a, b) {
        match op {
            DiffOp::Equal {
                old_index,
                new_index,
                len,
            } => {
                let both = |at| Aligned::Both(old_index + at, new_index + at);
                aligned.extend((0..len).map(both));
            }
            DiffOp::Delete {
                old_index, old_len, ..
            } => aligned.extend((old_index..old_index + old_len).map(Aligned::OnlyA)),
            DiffOp::Insert {
                new_index, new_len, ..
            } => aligned.extend((new_index..new_index + new_len).map(Aligned::OnlyB)),
            DiffOp::Replace {
                old_index,
                old_len,
                new_index,
                new_len,
            } => {
                let mut next = new_index;
                let end = new_index + new_len;
                for old in old_index..old_index + old_len {
                    match (next..end).find(|new| alike(old, *new)) {
                        Some(new) => {
                            aligned.extend((next..new).map(Aligned::OnlyB));
                            aligned.push(Aligned::Both(old, new));
                            next = new + 1;
                        }
                        None => aligned.push(Aligned::OnlyA(old)),
                    }
                }
                aligned.extend((next..end).map(Aligned::OnlyB));
            }
        }
    }
    aligned
}

#[cfg(test)]
mod tests {
    use super::Aligned::{Both, OnlyA, OnlyB};
    use super::*;

    #[test]
    fn equal_items_stay_together_whatever_comes_between_them() {
        let never = |_, _| false;
        assert_eq!(
            align(&["a", "b", "c"], &["a", "x", "c"], never),
            [Both(0, 0), OnlyA(1), OnlyB(1), Both(2, 2)]
        );
        assert_eq!(align(&["a"], &["x", "a"], never), [OnlyB(0), Both(0, 1)]);
        assert_eq!(align(&["a"], &[], never), [OnlyA(0)]);
    }

    #[test]
    fn between_them_each_finds_the_first_that_is_alike_and_is_left() {
        let (a, b) = ([10, 21, 30], [10, 11, 22, 23, 30]);
        let alike = |at: usize, to: usize| match (a.get(at), b.get(to)) {
            (Some(a), Some(b)) => a / 10 == b / 10,
            (_, _) => false,
        };
        assert_eq!(
            align(&a, &b, alike),
            [Both(0, 0), OnlyB(1), Both(1, 2), OnlyB(3), Both(2, 4)]
        );
    }
}
