//! Calls that a gateway passed while the journal could not be written, in the journal's own stream.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Error, Ledger};
use crate::session::{ActorKind, Seq, SessionId, Timestamp};

/// The kind of the record.
pub(crate) const CALLS_PASSED: &str = "calls_passed";

/// The number of records read at a time.
const PAGE: usize = 1024;

/// A gap: calls that no policy names reached their client before they were on record, or without a
/// record.
///
/// ```json
/// {"calls":3,"since_us":1795183387112345,"until_us":1795183391112345}
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassedCalls {
    /// The number of calls.
    pub calls: u64,
    /// The time of the first one.
    #[serde(rename = "since_us")]
    pub since: Timestamp,
    /// The time of the last one.
    #[serde(rename = "until_us")]
    pub until: Timestamp,
}

impl Ledger {
    /// Records a gap in the journal's own stream. Returns the record.
    ///
    /// ```
    /// # recount_journal::block_on(async {
    /// use std::sync::Arc;
    /// use recount::journal::MemoryJournal;
    /// use recount::ledger::{Ledger, PassedCalls};
    /// use recount::session::Timestamp;
    ///
    /// let ledger = Ledger::new(Arc::new(MemoryJournal::new()));
    /// let (since, until) = (Timestamp(1_795_183_387_000_000), Timestamp(1_795_183_391_000_000));
    /// let gap = PassedCalls { calls: 3, since, until };
    /// ledger.record_passed_calls(gap, until).await?;
    /// assert_eq!(ledger.passed_calls().await?, [gap]);
    /// # Ok::<(), recount::ledger::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// The error of a journal that still cannot be written.
    pub async fn record_passed_calls(
        &self,
        gap: PassedCalls,
        now: Timestamp,
    ) -> Result<Seq, Error> {
        let about = (SessionId(Uuid::nil()), ActorKind::Engine);
        loop {
            let head = self.own_head().await?;
            // Otherwise another writer appended to this stream.
            if let Some(seq) = self
                .append_own(head, about, (CALLS_PASSED, &gap), now)
                .await?
            {
                return Ok(seq);
            }
        }
    }

    /// Returns all recorded gaps, oldest first.
    ///
    /// # Errors
    /// The error of a journal that cannot be read.
    pub async fn passed_calls(&self) -> Result<Vec<PassedCalls>, Error> {
        let (mut gaps, mut next) = (Vec::new(), 1);
        loop {
            let lines = self.journal().read(Uuid::nil(), next, PAGE).await?;
            if lines.is_empty() {
                return Ok(gaps);
            }
            next += lines.len() as u64;
            // Invalid records are skipped here; `verify` reports them.
            for record in lines.iter().filter_map(|it| it.record().ok()) {
                if record.kind == CALLS_PASSED
                    && let Ok(gap) = serde_json::from_str(record.body.get())
                {
                    gaps.push(gap);
                }
            }
        }
    }
}
