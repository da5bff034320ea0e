//! A clock that a test sets.

use std::sync::Arc;

use recount::engine::{Clock, SystemClock};
use recount::journal::BoxFuture;
use recount::session::{SessionId, Timestamp};
use tokio::sync::watch;

/// A clock that stands still until the test sets it.
pub(crate) struct HandClock(watch::Sender<Timestamp>);

impl HandClock {
    pub(crate) fn new() -> Arc<HandClock> {
        let start = Timestamp(1_800_000_000_000_000);
        Arc::new(HandClock(watch::Sender::new(start)))
    }

    /// Sets the clock forward.
    pub(crate) fn forward_ms(&self, ms: u64) {
        self.0.send_modify(|now| *now = now.after_ms(ms));
    }
}

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        *self.0.borrow()
    }

    fn reached(&self, due: Timestamp) -> BoxFuture<'static, ()> {
        let mut now = self.0.subscribe();
        Box::pin(async move {
            // Without its clock, an engine has no time.
            let _ = now.wait_for(|now| due <= *now).await;
        })
    }

    fn new_session(&self) -> SessionId {
        SystemClock.new_session()
    }
}
