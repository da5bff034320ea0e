//! A clock that a test advances.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use recount_journal::BoxFuture;
use tokio::sync::watch;

use crate::engine::Clock;
use crate::session::{SessionId, Timestamp};

/// A clock that stands still until the test advances it, and returns the same ids in every run.
///
/// ```
/// use std::time::Duration;
/// use recount::engine::Clock;
/// use recount::testing::ManualClock;
/// let clock = ManualClock::new();
/// let before = clock.now();
/// clock.advance(Duration::from_secs(60 * 60 * 24 * 14));
/// assert_eq!(clock.now().0 - before.0, 14 * 24 * 60 * 60 * 1_000_000);
/// ```
pub struct ManualClock {
    now: watch::Sender<Timestamp>,
    sessions: AtomicU64,
    drawn: AtomicU64,
}

impl ManualClock {
    /// A clock at 2026-01-01T00:00:00Z.
    pub fn new() -> Arc<ManualClock> {
        Arc::new(ManualClock {
            now: watch::Sender::new(Timestamp(1_767_225_600_000_000)),
            sessions: AtomicU64::new(0),
            drawn: AtomicU64::new(0),
        })
    }

    /// Advances the time.
    pub fn advance(&self, by: Duration) {
        let ms = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        self.now.send_modify(|now| *now = now.after_ms(ms));
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.now.borrow()
    }

    fn reached(&self, due: Timestamp) -> BoxFuture<'static, ()> {
        let mut now = self.now.subscribe();
        Box::pin(async move {
            // The sender was dropped, so the time will never be reached.
            if now.wait_for(|now| *now >= due).await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }

    /// Returns the same numbers in every run.
    fn entropy(&self) -> u64 {
        // The golden-ratio multiplier spreads 1, 2, 3, … over all numbers.
        let drawn = self.drawn.fetch_add(1, Ordering::Relaxed) + 1;
        drawn.wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    fn new_session(&self) -> SessionId {
        let count = self.sessions.fetch_add(1, Ordering::Relaxed) + 1;
        let millis = u64::try_from(self.now().0 / 1000).unwrap_or_default();
        let mut random = [0; 10];
        random[2..].copy_from_slice(&count.to_be_bytes());
        SessionId(uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid())
    }
}
