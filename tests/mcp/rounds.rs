//! Waiting in tests by a limited number of rounds, so that no clock decides.

use std::ops::AsyncFn;

/// A thousand times what the slowest test needs.
const ROUNDS_MAX: usize = 2_000_000;

/// Checks a condition until it holds, and yields to other tasks in between.
pub(crate) async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    for _ in 0..ROUNDS_MAX {
        if is_so().await {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("never: {what}");
}
