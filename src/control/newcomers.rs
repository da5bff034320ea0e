//! Whoever has come and not shown the token yet. They are anybody on this machine, so they have
//! places of their own, and the one that has kept the service waiting longest gives way.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use tokio_util::sync::CancellationToken;

/// How many may be about to show the token. An operator does that within a moment, so the oldest of
/// so many is none.
pub(super) const NEWCOMERS_MAX: usize = 128;

/// Those that are here, the oldest first.
#[derive(Default)]
pub(super) struct Newcomers(VecDeque<Weak<CancellationToken>>);

impl Newcomers {
    /// One more: it is one until this is dropped, and gives way when this is cancelled.
    pub(super) fn welcome(&mut self) -> Arc<CancellationToken> {
        self.0.retain(|it| it.strong_count() > 0);
        if self.0.len() >= NEWCOMERS_MAX
            && let Some(oldest) = self.0.pop_front().and_then(|it| it.upgrade())
        {
            oldest.cancel();
        }
        let newcomer = Arc::new(CancellationToken::new());
        self.0.push_back(Arc::downgrade(&newcomer));
        newcomer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_oldest_gives_way_and_only_where_there_is_no_room() {
        let mut newcomers = Newcomers::default();
        let mut here: VecDeque<_> = (0..NEWCOMERS_MAX).map(|_| newcomers.welcome()).collect();
        // One has shown the token, so there is room for another.
        here.pop_back();
        here.push_back(newcomers.welcome());
        assert!(here.iter().all(|it| !it.is_cancelled()));
        here.push_back(newcomers.welcome());
        let gave_way: Vec<bool> = here.iter().map(|it| it.is_cancelled()).collect();
        assert_eq!(gave_way.iter().position(|it| *it), Some(0));
        assert_eq!(gave_way.iter().filter(|it| **it).count(), 1);
    }
}
