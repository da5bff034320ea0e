//! Connections that have not shown the token yet. Any program on this machine can open one, so they
//! have a limit of their own. Beyond it the oldest one is closed.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use tokio_util::sync::CancellationToken;

/// The maximum number of connections without a token. An operator shows the token within
/// milliseconds, so the oldest of so many is not an operator.
pub(super) const UNAUTHENTICATED_MAX: usize = 128;

/// The connections, oldest first.
#[derive(Default)]
pub(super) struct Unauthenticated(VecDeque<Weak<CancellationToken>>);

impl Unauthenticated {
    /// Adds a connection, which counts until the returned token is dropped. The connection must
    /// close when the token is cancelled.
    pub(super) fn add(&mut self) -> Arc<CancellationToken> {
        self.0.retain(|it| it.strong_count() > 0);
        if self.0.len() >= UNAUTHENTICATED_MAX
            && let Some(oldest) = self.0.pop_front().and_then(|it| it.upgrade())
        {
            oldest.cancel();
        }
        let unauthenticated = Arc::new(CancellationToken::new());
        self.0.push_back(Arc::downgrade(&unauthenticated));
        unauthenticated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_is_cancelled_beyond_the_limit() {
        let mut unauthenticated = Unauthenticated::default();
        let mut here: VecDeque<_> = (0..UNAUTHENTICATED_MAX)
            .map(|_| unauthenticated.add())
            .collect();
        // One connection has shown the token, so there is room for another.
        here.pop_back();
        here.push_back(unauthenticated.add());
        assert!(here.iter().all(|it| !it.is_cancelled()));
        here.push_back(unauthenticated.add());
        let gave_way: Vec<bool> = here.iter().map(|it| it.is_cancelled()).collect();
        assert_eq!(gave_way.iter().position(|it| *it), Some(0));
        assert_eq!(gave_way.iter().filter(|it| **it).count(), 1);
    }
}
