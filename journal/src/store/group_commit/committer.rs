//! The committer: the thread that commits what no append commits in place, and closes the log.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use futures_channel::oneshot;
use uuid::Uuid;

use super::commit_delay::CommitDelay;
use super::log_end::LogEnd;
use super::queue::Shared;
use super::queued::Queued;
use crate::index::{Index, kept, refused_by_disk};
use crate::store::directory::claim::index_place;
use crate::store::directory::manifest::Manifest;
use crate::store::directory::{closed, snapshots};
use crate::store::system;
use crate::view::Added;

/// The maximum size, in bytes, of the frames that the index lacks. Commits wait above it.
const INDEX_LAG_LIMIT: usize = 64 << 20;

/// The pause between two attempts to write to a full disk.
const ROOM_RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Commits everything that is queued.
pub(crate) struct Committer {
    pub(crate) shared: Arc<Shared>,
    pub(crate) index: Arc<Index>,
    pub(crate) directory: PathBuf,
    pub(crate) journal: Uuid,
    /// True if the log is in the directory, so that a clean close can write `CLOSED` for it.
    pub(crate) notes_close: bool,
    pub(crate) clock: Arc<dyn Fn() -> i64 + Send + Sync>,
}

impl Committer {
    /// Runs until the journal closes or fails, then releases everything. `_ended` is dropped after
    /// that.
    pub(crate) fn run(self, indexer: JoinHandle<Result<(), String>>, _ended: oneshot::Sender<()>) {
        let worked = catch_unwind(AssertUnwindSafe(|| self.work()))
            .unwrap_or_else(|_| Err("the committer panicked".to_owned()));
        if let Err(cause) = &worked {
            self.shared.state().fail(cause.clone());
        }
        self.shared.state().complete = true;
        self.shared.indexing.notify_all();
        let indexed = indexer
            .join()
            .unwrap_or_else(|_| Err("the indexer panicked".to_owned()));
        // Waits for a commit in place that is still running.
        let end = self.end().take();
        let ended = worked.and(indexed).and_then(|()| self.finish(end));
        let Self { shared, index, .. } = self;
        drop(index);
        let mut state = shared.state();
        if let Err(cause) = ended {
            state.fail(cause);
        }
        state.release();
    }

    fn work(&self) -> Result<(), String> {
        let mut delay = CommitDelay::default();
        loop {
            self.shared.wait(&mut delay);
            let mut end = self.end();
            let Some(end) = end.as_mut() else {
                return Err("the end of the log is gone".to_owned());
            };
            let appends = self.shared.state().take();
            if !appends.is_empty() {
                end.commit(&self.shared, appends)?;
                self.wait_for_room()?;
            } else if self.is_over()? {
                let closing = self.closing_record()?;
                end.commit(&self.shared, vec![closing])?;
                return self.wait_for_room();
            }
            // The last commit, whether it was made here or in place.
            end.report_last_commit(&mut delay);
            self.wait_for_index()?;
        }
    }

    fn end(&self) -> MutexGuard<'_, Option<LogEnd>> {
        let end = &self.shared.end;
        end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the journal is closing and every admitted append is committed. Fails if the
    /// journal failed.
    fn is_over(&self) -> Result<bool, String> {
        let state = self.shared.state();
        state.outcome().map_err(|error| error.to_string())?;
        Ok(state.is_over())
    }

    /// Waits for a while, or for the next append, if a full disk has no room for the queue.
    fn wait_for_room(&self) -> Result<(), String> {
        let state = self.shared.state();
        if state.full().is_ok() {
            return Ok(());
        }
        if state.closing {
            return Err("the disk is full, and what was queued is not written".to_owned());
        }
        let waited = self.shared.arrived.wait_timeout(state, ROOM_RETRY_INTERVAL);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
        Ok(())
    }

    /// Waits while the index lags too far behind. The frames that it lacks are held in memory,
    /// which must not grow without bounds.
    fn wait_for_index(&self) -> Result<(), String> {
        let mut state = self.shared.state();
        while state.unindexed_bytes > INDEX_LAG_LIMIT && !state.has_failed() {
            state = self
                .shared
                .indexing
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.outcome().map_err(|error| error.to_string())
    }

    /// Makes the closing record. As the last record of the log it shows that nothing is missing
    /// after it.
    fn closing_record(&self) -> Result<Queued, String> {
        let head = {
            let mut state = self.shared.state();
            let stream = state.view.stream(Uuid::nil(), Some(&self.index));
            let stream = stream.map_err(|error| error.to_string())?;
            stream.map(|stream| stream.head)
        };
        let append = system::closed(head.as_ref(), (self.clock)());
        let head = system::head_of(&append).ok_or("the closing record does not read")?;
        let added = Added {
            session: append.session,
            first: head.seq,
            head,
            work: Vec::new(),
            objects: Vec::new(),
        };
        let bytes = crate::log::encode_append(&append, |_| false).bytes;
        Ok(Queued::own(bytes, added))
    }

    /// Makes the index durable at the close. An index that is behind a closed log is then known to
    /// be damaged.
    fn finish(&self, end: Option<LogEnd>) -> Result<(), String> {
        end.map_or(Ok(()), LogEnd::close)?;
        if !self.is_indexed() {
            return Ok(());
        }
        let waiting = self.notes_close.then(|| self.waiting()).flatten();
        // This follows the last read of the index, because a read may make sled write.
        match self.index.flush(&index_place(&self.directory)) {
            // The log has everything. Without `CLOSED`, the next opening reads it.
            Err(why) if refused_by_disk(&why).is_some() => return Ok(()),
            flushed => flushed?,
        }
        let (trusted, end) = {
            let state = self.shared.state();
            let end = Manifest::of(self.journal, state.view.last, state.view.records);
            (!state.needs_full_check, end)
        };
        if self.notes_close && trusted {
            // Without the kept rows the next opening is slower, and nothing else.
            let kept = snapshots::keep_waiting(&self.directory, waiting.as_deref()).is_ok();
            closed::write_at_close(&self.directory, end, kept)
                .map_err(|error| format!("failed to note the close: {error}"))?;
        }
        Ok(())
    }

    /// True if the index has everything. It lacks frames if the disk had no room for them.
    fn is_indexed(&self) -> bool {
        let state = self.shared.state();
        state.unindexed.is_empty() && !state.view.has_changed()
    }

    /// The rows of the streams that wait for an answer. With them the next opening need not ask the
    /// index for each. `None` if no stream waits, or if the index cannot be read.
    fn waiting(&self) -> Option<Vec<u8>> {
        let mut state = self.shared.state();
        if state.needs_full_check {
            return None;
        }
        let rows = state.view.waiting(&self.index);
        let mark = self.index.mark(self.journal);
        let (Ok(rows), Ok(mark)) = (rows, mark) else {
            state.needs_full_check = true;
            return None;
        };
        let mark = mark.filter(|_| !rows.is_empty())?;
        Some(kept::to_bytes(self.journal, mark, rows))
    }
}
