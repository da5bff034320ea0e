//! Time and names come in here and nowhere else.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use recount_journal::BoxFuture;

use crate::session::{SessionId, Timestamp};

/// How often the machine's clock is asked while a time is awaited.
const ASKED_AGAIN: Duration = Duration::from_secs(60);

/// Tells the time and wakes at a time.
///
/// The engine asks no other clock, so a test that owns this one owns every deadline.
pub trait Clock: Send + Sync + 'static {
    /// The time now.
    fn now(&self) -> Timestamp;

    /// Ready when `due` has come.
    fn reached(&self, due: Timestamp) -> BoxFuture<'static, ()>;

    /// A name for a session that begins now.
    fn new_session(&self) -> SessionId;

    /// A number that nobody can foresee; in a test, the same ones in every run. Waits are spread
    /// with it.
    fn entropy(&self) -> u64 {
        // The lower half of such a name is random.
        self.new_session().0.as_u64_pair().1
    }
}

/// The machine's clock and randomness.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl SystemClock {
    /// The clock for production.
    pub fn shared() -> Arc<dyn Clock> {
        Arc::new(SystemClock)
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // A clock that is set before 1970 counts as 1970.
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let since = since.unwrap_or_default().as_micros();
        Timestamp(i64::try_from(since).unwrap_or(i64::MAX))
    }

    fn reached(&self, due: Timestamp) -> BoxFuture<'static, ()> {
        let clock = *self;
        Box::pin(async move {
            // The wall clock may be set while we sleep, and goes on while the machine sleeps, so it
            // is asked again and again.
            while let Ok(left @ 1..) = u64::try_from(due.0.saturating_sub(clock.now().0)) {
                tokio::time::sleep(Duration::from_micros(left).min(ASKED_AGAIN)).await;
            }
        })
    }

    fn new_session(&self) -> SessionId {
        SessionId(uuid::Uuid::now_v7())
    }
}
