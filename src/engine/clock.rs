//! The engine's only source of time, ids and randomness.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use recount_journal::BoxFuture;

use crate::session::{SessionId, Timestamp};

/// The maximum time between two readings of the system clock while waiting for a due time.
const CLOCK_CHECK_INTERVAL: Duration = Duration::from_secs(60);

/// A source of time, timers, session ids and entropy.
///
/// The engine uses no other clock, so a test that controls this one controls every deadline.
pub trait Clock: Send + Sync + 'static {
    /// Returns the current time.
    fn now(&self) -> Timestamp;

    /// Completes once the clock reaches `due`.
    fn reached(&self, due: Timestamp) -> BoxFuture<'static, ()>;

    /// Returns an id for a new session.
    fn new_session(&self) -> SessionId;

    /// Returns an unpredictable number; a test clock may return a fixed sequence. The engine uses
    /// it for jitter in waits.
    fn entropy(&self) -> u64 {
        // The lower 64 bits of a session id are random.
        self.new_session().0.as_u64_pair().1
    }
}

/// The system clock, with the random ids of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl SystemClock {
    /// Returns the clock for production.
    pub fn shared() -> Arc<dyn Clock> {
        Arc::new(SystemClock)
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // A clock set before 1970 counts as 1970.
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let since = since.unwrap_or_default().as_micros();
        Timestamp(i64::try_from(since).unwrap_or(i64::MAX))
    }

    fn reached(&self, due: Timestamp) -> BoxFuture<'static, ()> {
        let clock = *self;
        Box::pin(async move {
            // The wall clock may be set while this task sleeps, and it advances while the machine
            // is suspended. So it is read again at intervals.
            while let Ok(left @ 1..) = u64::try_from(due.0.saturating_sub(clock.now().0)) {
                tokio::time::sleep(Duration::from_micros(left).min(CLOCK_CHECK_INTERVAL)).await;
            }
        })
    }

    fn new_session(&self) -> SessionId {
        SessionId(uuid::Uuid::now_v7())
    }
}
