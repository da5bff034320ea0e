//! The decision whether a recorded start begins to run.
//!
//! After the start is recorded, a run may still wait for a hook or a slot. The first to decide wins
//! for good: the run begins, or its session takes the start back.

use std::sync::{Arc, OnceLock};

/// The beginning of one run, shared between the run and its session.
#[derive(Clone, Default)]
pub(in crate::engine) struct Beginning(Arc<OnceLock<bool>>);

impl Beginning {
    /// Marks the run as begun. True if it may begin.
    pub(in crate::engine) fn begin(&self) -> bool {
        *self.0.get_or_init(|| true)
    }

    /// Takes the start back. True if the run had not begun.
    pub(in crate::engine) fn take_back(&self) -> bool {
        !*self.0.get_or_init(|| false)
    }

    /// True if the run has begun.
    pub(in crate::engine) fn has_begun(&self) -> bool {
        self.0.get() == Some(&true)
    }
}

#[cfg(test)]
mod tests {
    use super::Beginning;

    #[test]
    fn first_decision_wins() {
        let run = Beginning::default();
        assert!(!run.has_begun());
        assert!(run.begin() && run.has_begun());
        assert!(!run.take_back(), "it has begun");
        let run = Beginning::default();
        assert!(run.take_back() && !run.has_begun());
        assert!(!run.begin(), "it was taken back");
        assert!(run.take_back(), "and stays so");
    }
}
