//! The gap in the record: calls that passed while the journal could not be written.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use recount::engine::{Clock, Engine, SystemClock};
use recount::ledger::PassedCalls;
use tokio::time::interval;

/// The time between two attempts to record the gap.
const TRY_EVERY: Duration = Duration::from_secs(2);

/// The gap that is not on record yet.
pub(crate) struct Gaps {
    gap: Mutex<Option<PassedCalls>>,
    clock: Arc<dyn Clock>,
}

impl Default for Gaps {
    fn default() -> Gaps {
        Gaps {
            gap: Mutex::new(None),
            clock: SystemClock::shared(),
        }
    }
}

impl Gaps {
    fn gap(&self) -> MutexGuard<'_, Option<PassedCalls>> {
        // Each change is one step, so a panic elsewhere leaves a whole value.
        self.gap.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds calls that passed now.
    pub(crate) fn add(&self, calls: u64) {
        let now = self.clock.now();
        let mut gap = self.gap();
        let since = gap.as_ref().map_or(now, |it| it.since);
        let before = gap.as_ref().map_or(0, |it| it.calls);
        let calls = before.saturating_add(calls);
        *gap = Some(PassedCalls {
            calls,
            since,
            until: now,
        });
    }

    /// Records the gap as soon as the journal can be written.
    pub(crate) async fn record(&self, engine: &Engine) {
        let Some(gap) = self.gap().take() else {
            return;
        };
        let ledger = engine.ledger();
        match ledger.record_passed_calls(gap, self.clock.now()).await {
            Ok(_) => {
                let calls = gap.calls;
                tracing::warn!(calls, "calls passed while the journal could not be written");
            }
            Err(error) => {
                tracing::debug!(%error, "the gap is not on record yet");
                self.give_back(gap);
            }
        }
    }

    fn give_back(&self, earlier: PassedCalls) {
        let mut gap = self.gap();
        *gap = Some(match gap.take() {
            Some(later) => PassedCalls {
                calls: earlier.calls.saturating_add(later.calls),
                since: earlier.since,
                until: later.until,
            },
            None => earlier,
        });
    }
}

/// Records gaps until it is dropped.
pub(crate) async fn record_all(gaps: Arc<Gaps>, engine: Engine) {
    let mut tries = interval(TRY_EVERY);
    loop {
        tries.tick().await;
        gaps.record(&engine).await;
    }
}
