//! Reads that wait while the store of the journal is out of reach.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use recount_journal::{BoxFuture, Error};
use tokio::sync::watch;

use super::retrying_journal::{Retry, RetryingJournal};
use super::store::Ledger;

/// The pause after the first failure of a read. It doubles with each further one.
const PAUSE: Duration = Duration::from_millis(50);

/// The maximum pause, which delays a follower after a long outage.
const PAUSE_MAX: Duration = Duration::from_secs(5);

impl Ledger {
    /// Returns the ledger of a task that follows the journal for as long as the process runs.
    ///
    /// A read that fails because the store is out of reach, or its disk is full, is repeated after
    /// a growing pause. The log has the first failure, and the end of the outage, with the name of
    /// the follower. The error is returned once `stop` is true, or once the lease of this process
    /// has ended. A damaged journal, or one that was closed, is an error at once. Appends are not
    /// repeated.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use recount::journal::MemoryJournal;
    /// use recount::ledger::Ledger;
    /// use tokio::sync::watch;
    ///
    /// let (stop, stopped) = watch::channel(false);
    /// let ledger = Ledger::new(Arc::new(MemoryJournal::new()));
    /// let followed = ledger.through_outages("the export", stopped);
    /// # drop((stop, followed));
    /// ```
    #[must_use]
    pub fn through_outages(
        self,
        follower: impl Into<String>,
        stop: watch::Receiver<bool>,
    ) -> Ledger {
        let inner = self.journal().clone();
        let retry = Outages {
            journal: inner.clone(),
            follower: follower.into(),
            stop,
            is_out: AtomicBool::new(false),
        };
        self.over(Arc::new(RetryingJournal { inner, retry }))
    }
}

/// The rule of a follower: it waits until an outage is over.
struct Outages {
    journal: Arc<dyn recount_journal::Journal>,
    follower: String,
    stop: watch::Receiver<bool>,
    /// True from the first failure of a read to the next one that was answered.
    is_out: AtomicBool,
}

impl Outages {
    /// Waits until the lease of this process has ended.
    async fn lease_lost(&self) -> Error {
        match self.journal.sharing() {
            Some(sharing) => sharing.lost().await,
            None => std::future::pending().await,
        }
    }
}

impl Retry for Outages {
    fn pause(&self, error: Error, failures: u32) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            if !error.is_transient() {
                return Err(error);
            }
            let follower = &self.follower;
            if !self.is_out.swap(true, Ordering::Relaxed) {
                let cause = cause_of(&error);
                tracing::warn!(%follower, %cause, "the journal cannot be read, and is tried again");
            }
            let doubled = 2_u32.saturating_pow(failures.saturating_sub(1));
            let pause = PAUSE.saturating_mul(doubled).min(PAUSE_MAX);
            let mut stop = self.stop.clone();
            tokio::select! {
                biased;
                // A sender that is gone asks for an end, too.
                _ = stop.wait_for(|it| *it) => Err(error),
                lost = self.lease_lost() => Err(lost),
                () = tokio::time::sleep(pause) => Ok(()),
            }
        })
    }

    fn answered(&self) {
        if self.is_out.load(Ordering::Relaxed) && self.is_out.swap(false, Ordering::Relaxed) {
            tracing::warn!(follower = %self.follower, "the journal can be read again");
        }
    }
}

/// Returns the text of an error with its cause.
fn cause_of(error: &Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
