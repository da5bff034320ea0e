//! The open confirmation requests of every session.

use recount_journal::OpenItem;
use tokio_util::task::AbortOnDropHandle;

use crate::engine::error::{Error, ended};
use crate::engine::serving::engine::Engine;
use crate::ledger::PendingConfirmation;

/// The maximum number of requests that one task reads. It takes about a millisecond, after which
/// other tasks of the thread can run.
const REQUESTS_PER_TASK: usize = 128;

impl Engine {
    /// Returns every open confirmation request, oldest session first. The cost depends on the
    /// number of open requests, not on the length of the journal.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub async fn pending(&self) -> Result<Vec<PendingConfirmation>, Error> {
        let ledger = &self.inner.ledger;
        let requests = ledger.open_requests().await?;
        if requests.len() <= REQUESTS_PER_TASK {
            return Ok(ledger.pending_of(&requests).await?);
        }
        let mut pending = Vec::with_capacity(requests.len());
        let mut parts = Vec::with_capacity(requests.len().div_ceil(REQUESTS_PER_TASK));
        let mut requests = requests.into_iter();
        while requests.len() > 0 {
            let part: Vec<OpenItem> = requests.by_ref().take(REQUESTS_PER_TASK).collect();
            let ledger = ledger.clone();
            let reading = async move { ledger.pending_of(&part).await };
            parts.push(AbortOnDropHandle::new(tokio::spawn(reading)));
        }
        for part in parts {
            pending.extend(part.await.map_err(ended)??);
        }
        Ok(pending)
    }
}
