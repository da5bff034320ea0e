//! The time of a played conversation: the paused time of tokio's runtime, which advances when all
//! tasks are idle.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use recount_journal::BoxFuture;
use tokio::time::Instant;

use crate::engine::Clock;
use crate::session::{SessionId, Timestamp};

/// A clock that starts at the recorded beginning, and returns the recorded session id. Each process
/// has a clock of its own, because its runtime has a time of its own.
pub(super) struct PlayedClock {
    /// The runtime's time at which this clock was made.
    made: Instant,
    /// The age of the conversation at that time.
    before: Duration,
    began_at: Timestamp,
    session: SessionId,
    drawn: AtomicU64,
}

impl PlayedClock {
    pub(super) fn new(began_at: Timestamp, session: SessionId) -> PlayedClock {
        PlayedClock {
            made: Instant::now(),
            before: Duration::ZERO,
            began_at,
            session,
            drawn: AtomicU64::new(0),
        }
    }

    /// The clock of a later process, which starts at this age of the conversation.
    pub(super) fn going_on(mut self, before: Duration) -> PlayedClock {
        self.before = before;
        self
    }

    /// The age of the conversation.
    pub(super) fn age(&self) -> Duration {
        self.before + self.made.elapsed()
    }

    /// The instant at which the conversation has this age. It may be in the past.
    fn at(&self, age: Duration) -> Instant {
        self.made + age.saturating_sub(self.before)
    }

    /// The instant this many milliseconds after the beginning.
    pub(super) fn instant(&self, at_ms: u64) -> Instant {
        self.at(Duration::from_millis(at_ms))
    }
}

impl Clock for PlayedClock {
    fn now(&self) -> Timestamp {
        let since = i64::try_from(self.age().as_micros()).unwrap_or(i64::MAX);
        Timestamp(self.began_at.0.saturating_add(since))
    }

    fn reached(&self, due: Timestamp) -> BoxFuture<'static, ()> {
        let after = u64::try_from(due.0.saturating_sub(self.began_at.0)).unwrap_or_default();
        let due = self.at(Duration::from_micros(after));
        Box::pin(tokio::time::sleep_until(due))
    }

    fn new_session(&self) -> SessionId {
        self.session
    }

    /// Returns the same numbers in every play.
    fn entropy(&self) -> u64 {
        let drawn = self.drawn.fetch_add(1, Ordering::Relaxed) + 1;
        drawn.wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }
}
