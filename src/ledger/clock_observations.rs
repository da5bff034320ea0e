//! Observations of the machine's clocks, in the journal's own stream.
//!
//! Every record has the wall-clock time of its machine, which the record itself cannot check. An
//! observation has the wall clock and a clock that is never set side by side. Two of them show
//! whether the wall clock was set in between. `recount serve` records one at its start and one an
//! hour; a program may record its own.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Error, Ledger};
use crate::session::{ActorKind, Seq, SessionId, Timestamp};

/// The kind of the record of an observation.
pub(crate) const CLOCK_OBSERVED: &str = "clock_observed";

/// The number of records read at a time.
const PAGE: usize = 1024;

/// The system's word on the synchronisation of its wall clock with a source of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockSync {
    /// The system reports that the clock is synchronised.
    Synchronized,
    /// The system reports that the clock is not synchronised.
    Unsynchronized,
    /// The system reports nothing that this program can read.
    Unknown,
}

/// The machine's clocks at one moment.
///
/// ```json
/// {"wall_us":1795183387112345,"monotonic_us":86400000000,"origin":"4c8b…","process":"0199…",
///  "synchronization":"synchronized"}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockReading {
    /// The wall clock. The time of the record is never before that of the record before it, so it
    /// differs from this one if the clock was set back.
    #[serde(rename = "wall_us")]
    pub wall: Timestamp,
    /// The clock that is never set, in microseconds since its origin.
    pub monotonic_us: i64,
    /// The origin of that clock: the id of the start of the machine, or of the process where the
    /// system names none. Readings with the same origin can be compared.
    pub origin: String,
    /// The id of the process's start.
    pub process: Uuid,
    /// The system's word on the synchronisation.
    pub synchronization: ClockSync,
}

/// A recorded reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockObservation {
    /// The record, in the stream with the nil id.
    pub seq: Seq,
    /// The time of the record.
    pub at: Timestamp,
    /// The reading.
    pub reading: ClockReading,
}

impl Ledger {
    /// Records a reading of the clocks in the journal's own stream. Returns the record.
    ///
    /// ```
    /// # recount_journal::block_on(async {
    /// use std::sync::Arc;
    /// use recount::journal::MemoryJournal;
    /// use recount::ledger::{ClockReading, ClockSync, Ledger};
    /// use recount::session::Timestamp;
    ///
    /// let ledger = Ledger::new(Arc::new(MemoryJournal::new()));
    /// let reading = ClockReading {
    ///     wall: Timestamp(1_795_183_387_112_345),
    ///     monotonic_us: 86_400_000_000,
    ///     origin: "the machine's start".to_owned(),
    ///     process: uuid::Uuid::now_v7(),
    ///     synchronization: ClockSync::Unknown,
    /// };
    /// ledger.observe_clock(&reading).await?;
    /// assert_eq!(ledger.clock_observations().await?[0].reading, reading);
    /// # Ok::<(), recount::ledger::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// The error of a journal that cannot be written.
    pub async fn observe_clock(&self, reading: &ClockReading) -> Result<Seq, Error> {
        let about = (SessionId(Uuid::nil()), ActorKind::Engine);
        loop {
            let head = self.own_head().await?;
            let body = (CLOCK_OBSERVED, reading);
            // Otherwise another writer appended to this stream.
            if let Some(seq) = self.append_own(head, about, body, reading.wall).await? {
                return Ok(seq);
            }
        }
    }

    /// Returns all recorded readings of the clocks, oldest first.
    ///
    /// # Errors
    /// The error of a journal that cannot be read.
    pub async fn clock_observations(&self) -> Result<Vec<ClockObservation>, Error> {
        let (mut observations, mut next) = (Vec::new(), 1);
        loop {
            let lines = self.journal().read(Uuid::nil(), next, PAGE).await?;
            if lines.is_empty() {
                return Ok(observations);
            }
            next += lines.len() as u64;
            // Invalid records are skipped here; `verify` reports them.
            for record in lines.iter().filter_map(|it| it.record().ok()) {
                let body = record.body.get();
                if record.kind == CLOCK_OBSERVED
                    && let Ok(reading) = serde_json::from_str(body)
                {
                    let (seq, at) = (Seq(record.seq), Timestamp(record.at_us));
                    observations.push(ClockObservation { seq, at, reading });
                }
            }
        }
    }
}
