//! The thread that brings the index level with the log, a few times a second or when a mebibyte
//! waits: many frames at a time cost sled less than one at a time, and nobody waits for the index.

use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::limits::{GATHER_BYTES, HURRY_BYTES};
use super::queue::Shared;
use crate::index::{Index, Room};
use crate::log::Block;

/// How long heads, positions and open work are gathered before they go in together.
const GATHER: Duration = Duration::from_millis(250);

/// Fills the index.
pub(crate) struct Indexer {
    pub(crate) shared: Arc<Shared>,
    pub(crate) index: Arc<Index>,
    pub(crate) journal: Uuid,
}

impl Indexer {
    /// Works until the committer is done and everything is in, or something fails.
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
        let (mut flushed, mut room) = (Instant::now(), Room::default());
        while self.wait(flushed) {
            if self.shared.floor.is_tight() {
                if self.pause() {
                    continue;
                }
                // The next opening reads it from the log.
                return Ok(());
            }
            self.put_blocks(&mut room)?;
            if flushed.elapsed() >= GATHER || self.shared.state().complete {
                self.flush(&mut room)?;
                flushed = Instant::now();
            }
        }
        Ok(())
    }

    /// Waits for frames or for the time to flush; says whether there is anything to do ever after.
    fn wait(&self, flushed: Instant) -> bool {
        let mut state = self.shared.state();
        loop {
            let idle = state.unindexed.is_empty() && !state.view.has_changed();
            if state.has_failed() || (state.complete && idle) {
                return false;
            }
            let left = GATHER.saturating_sub(flushed.elapsed());
            if idle {
                let waited = self.shared.indexing.wait(state);
                state = waited.unwrap_or_else(PoisonError::into_inner);
            } else if state.complete || state.unindexed_bytes >= GATHER_BYTES || left.is_zero() {
                return true;
            } else {
                let waited = self.shared.indexing.wait_timeout(state, left);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }

    /// Waits a while for room on the disk. At the end of the journal nothing is waited for.
    fn pause(&self) -> bool {
        let state = self.shared.state();
        if state.complete {
            return false;
        }
        let waited = self.shared.indexing.wait_timeout(state, GATHER);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
        true
    }

    /// Puts all frames in that wait; until they are in, they are read from memory.
    fn put_blocks(&self, room: &mut Room) -> Result<(), String> {
        let (waiting, in_time): (Vec<(u64, Arc<Block>)>, bool) = {
            let state = self.shared.state();
            let in_time = state.unindexed_bytes < HURRY_BYTES;
            (state.unindexed.iter().cloned().collect(), in_time)
        };
        let blocks = waiting.iter().map(|(frame, block)| (*frame, &**block));
        // An append that comes meanwhile would wait for up to a slice of the scheduler, which is
        // many syncs long.
        self.index.put_blocks(blocks, room, || {
            if in_time {
                thread::yield_now();
            }
        })?;
        let mut state = self.shared.state();
        for (_, block) in &waiting {
            state.unindexed.pop_front();
            state.unindexed_bytes = state.unindexed_bytes.saturating_sub(block.0.len());
        }
        drop(state);
        self.shared.indexing.notify_all();
        Ok(())
    }

    /// Puts in what changed, with the mark of the frame it speaks of.
    fn flush(&self, room: &mut Room) -> Result<(), String> {
        let (rows, mark, records) = {
            let mut state = self.shared.state();
            (
                state.view.begin_flush(),
                state.view.last,
                state.view.records,
            )
        };
        // Frames that were committed in between: the mark speaks of them too.
        self.put_blocks(room)?;
        self.index.commit(rows, self.journal, mark, records)?;
        let mut state = self.shared.state();
        state.view.end_flush();
        state.view.let_go();
        Ok(())
    }
}
