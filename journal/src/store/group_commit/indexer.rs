//! The indexer: the thread that brings the index up to the log.
//!
//! It writes a few times a second, or when a mebibyte of frames waits. Many frames at a time cost
//! sled less than one at a time, and no caller waits for the index.

use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::limits::{INDEX_BATCH_BYTES, INDEX_LAG_URGENT};
use super::queue::Shared;
use super::state::Unindexed;
use crate::index::{CompressionBuffer, Index};

/// The time between two flushes of heads, positions and open work.
const FLUSH_INTERVAL: Duration = Duration::from_millis(250);

/// Fills the index.
pub(crate) struct Indexer {
    pub(crate) shared: Arc<Shared>,
    pub(crate) index: Arc<Index>,
    pub(crate) journal: Uuid,
}

impl Indexer {
    /// Runs until the committer has ended and everything is indexed, or something fails.
    pub(crate) fn run(&self) -> Result<(), String> {
        let worked = self.work();
        if let Err(what) = &worked {
            let cause = format!("failed to fill the index: {what}");
            self.shared.state().fail(cause);
            self.shared.arrived.notify_all();
            self.shared.indexing.notify_all();
        }
        worked
    }

    fn work(&self) -> Result<(), String> {
        let (mut flushed, mut buffer) = (Instant::now(), CompressionBuffer::default());
        while self.wait(flushed) {
            if self.shared.floor.is_tight() {
                if self.pause() {
                    continue;
                }
                // The next opening reads these frames from the log.
                return Ok(());
            }
            self.put_frames(&mut buffer)?;
            if flushed.elapsed() >= FLUSH_INTERVAL || self.shared.state().complete {
                self.flush(&mut buffer)?;
                flushed = Instant::now();
            }
        }
        Ok(())
    }

    /// Waits for frames or for the time of the next flush. Returns false once nothing more will
    /// come.
    fn wait(&self, flushed: Instant) -> bool {
        let mut state = self.shared.state();
        loop {
            let idle = state.unindexed.is_empty() && !state.view.has_changed();
            if state.has_failed() || (state.complete && idle) {
                return false;
            }
            let left = FLUSH_INTERVAL.saturating_sub(flushed.elapsed());
            if idle {
                let waited = self.shared.indexing.wait(state);
                state = waited.unwrap_or_else(PoisonError::into_inner);
            } else if state.complete || state.unindexed_bytes >= INDEX_BATCH_BYTES || left.is_zero()
            {
                return true;
            } else {
                let waited = self.shared.indexing.wait_timeout(state, left);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }

    /// Waits for room on the disk. Returns false without waiting if the journal is closing.
    fn pause(&self) -> bool {
        let state = self.shared.state();
        if state.complete {
            return false;
        }
        let waited = self.shared.indexing.wait_timeout(state, FLUSH_INTERVAL);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
        true
    }

    /// Writes all waiting frames to the index. Until then they are read from memory.
    fn put_frames(&self, buffer: &mut CompressionBuffer) -> Result<(), String> {
        let (waiting, in_time): (Vec<Unindexed>, bool) = {
            let state = self.shared.state();
            let in_time = state.unindexed_bytes < INDEX_LAG_URGENT;
            (state.unindexed.iter().cloned().collect(), in_time)
        };
        let frames = waiting.iter().map(|it| (it.number, &*it.bytes));
        // Otherwise an append could wait for a time slice of the scheduler, which is many syncs
        // long.
        self.index.put_frames(frames, buffer, || {
            if in_time {
                thread::yield_now();
            }
        })?;
        let mut state = self.shared.state();
        for it in &waiting {
            state.unindexed.pop_front();
            state.unindexed_bytes = state.unindexed_bytes.saturating_sub(it.bytes.0.len());
        }
        drop(state);
        self.shared.indexing.notify_all();
        Ok(())
    }

    /// Writes the changed rows, with the mark of the last frame that they cover.
    fn flush(&self, buffer: &mut CompressionBuffer) -> Result<(), String> {
        let (rows, mark, records) = {
            let mut state = self.shared.state();
            (
                state.view.begin_flush(),
                state.view.last,
                state.view.records,
            )
        };
        // The mark also covers frames that were committed in the meantime.
        self.put_frames(buffer)?;
        self.index.commit(rows, self.journal, mark, records)?;
        let mut state = self.shared.state();
        state.view.end_flush();
        state.view.evict();
        Ok(())
    }
}
