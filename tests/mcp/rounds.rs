//! How long a test waits for what others do: by rounds, so that no clock decides, and not for ever.

use std::ops::AsyncFn;

/// A thousand times what the slowest needs.
const ROUNDS_MAX: usize = 2_000_000;

/// Looks until something is so, and lets the others go on in between.
pub(crate) async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    for _ in 0..ROUNDS_MAX {
        if is_so().await {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("never: {what}");
}
