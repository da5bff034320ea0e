//! Whether a run whose start is on record has begun.
//!
//! Between the record and the tool's first step a run may wait: for a hook, for a place in the
//! engine. Whoever is first decides, once and for all: the run begins, or its session takes the
//! start back and it never does.

use std::sync::{Arc, OnceLock};

/// The beginning of one run, shared between the run and its session.
#[derive(Clone, Default)]
pub(in crate::engine) struct Beginning(Arc<OnceLock<bool>>);

impl Beginning {
    /// The run wants to begin; whether it may.
    pub(in crate::engine) fn begin(&self) -> bool {
        *self.0.get_or_init(|| true)
    }

    /// The session takes the start back; whether the run had not begun.
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
    fn whoever_is_first_decides() {
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
