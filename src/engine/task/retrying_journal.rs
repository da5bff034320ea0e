//! The wait of session tasks for disk space, and the journal whose reads wait.
//!
//! A full disk rejects an append before anything is written. So `record/full_disk` repeats the same
//! append until there is room. Meanwhile the connection stays open, and the model gets the outcome
//! of its call later. Callers are rejected at once, before their request becomes part of the
//! session.

use std::sync::Arc;
use std::time::Duration;

use recount_journal::{BoxFuture, Error as JournalError};
use tokio_util::sync::CancellationToken;

use crate::ledger::{Ledger, Retry, RetryingJournal};

/// The pause before the first retry of a write. It doubles with each retry.
pub(super) const PAUSE: Duration = Duration::from_millis(50);

/// The maximum pause between two retries.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// The wait for disk space. An engine that shuts down ends it for all its sessions.
#[derive(Clone, Debug, Default)]
pub(in crate::engine) struct SpaceWait {
    ended: CancellationToken,
}

impl SpaceWait {
    /// Ends every wait; an append without room then fails.
    pub(in crate::engine) fn end(&self) {
        self.ended.cancel();
    }

    /// Pauses before another retry. False once the waits have ended.
    pub(in crate::engine) async fn pause(&self, pause: &mut Duration) -> bool {
        tokio::select! {
            biased;
            () = self.ended.cancelled() => false,
            () = tokio::time::sleep(*pause) => {
                *pause = pause.saturating_mul(2).min(PAUSE_MAX);
                true
            }
        }
    }
}

/// Returns the ledger of the session tasks. Its reads wait for room when earlier appends do.
pub(in crate::engine) fn ledger_of_tasks(ledger: &Ledger, room: &SpaceWait) -> Ledger {
    let journal = RetryingJournal {
        inner: ledger.journal().clone(),
        retry: room.clone(),
    };
    ledger.clone().over(Arc::new(journal))
}

/// A read follows earlier buffered appends, so it is rejected while they cannot be written.
impl Retry for SpaceWait {
    fn pause(&self, error: JournalError, failures: u32) -> BoxFuture<'_, Result<(), JournalError>> {
        Box::pin(async move {
            let JournalError::NoSpace { .. } = error else {
                return Err(error);
            };
            let doubled = 2_u32.saturating_pow(failures.saturating_sub(1));
            let mut pause = PAUSE.saturating_mul(doubled).min(PAUSE_MAX);
            match self.pause(&mut pause).await {
                true => Ok(()),
                false => Err(error),
            }
        })
    }
}
