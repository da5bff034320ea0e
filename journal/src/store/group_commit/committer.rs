//! The thread at the end of the log: it commits what no append commits itself, and closes. The
//! index follows on a thread of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use futures_channel::oneshot;
use uuid::Uuid;

use super::company::Crowd;
use super::log_end::LogEnd;
use super::queue::Shared;
use super::queued::Queued;
use crate::index::{Index, kept, refused_by_disk};
use crate::store::directory::claim::index_place;
use crate::store::directory::manifest::Manifest;
use crate::store::directory::{closed, snapshots};
use crate::store::system;
use crate::view::Added;

/// How many bytes the index may be behind before commits wait for it.
const BEHIND_LIMIT: usize = 64 << 20;

/// The pause between two tries to write what a full disk had no room for.
const ROOM_PAUSE: Duration = Duration::from_millis(100);

/// Sees to it that everything queued is committed.
pub(crate) struct Committer {
    pub(crate) shared: Arc<Shared>,
    pub(crate) index: Arc<Index>,
    pub(crate) directory: PathBuf,
    pub(crate) journal: Uuid,
    /// True if the log is in the directory, so that a clean close can vouch for it.
    pub(crate) vouches: bool,
    pub(crate) clock: Arc<dyn Fn() -> i64 + Send + Sync>,
}

impl Committer {
    /// Works until the journal closes or fails, then lets go of everything; `_ended` falls when
    /// that is done.
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
        // Whoever commits still is waited for.
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
        let mut crowd = Crowd::default();
        loop {
            self.shared.wait(&mut crowd);
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
            // Of the last commit, whoever made it.
            end.tell(&mut crowd);
            self.wait_for_index()?;
        }
    }

    fn end(&self) -> MutexGuard<'_, Option<LogEnd>> {
        let end = &self.shared.end;
        end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the journal is to be closed and everything admitted is committed; an error if it
    /// failed.
    fn is_over(&self) -> Result<bool, String> {
        let state = self.shared.state();
        state.outcome().map_err(|error| error.to_string())?;
        Ok(state.is_over())
    }

    /// Waits a while, or for the next append, where a full disk had no room for what is queued.
    fn wait_for_room(&self) -> Result<(), String> {
        let state = self.shared.state();
        if state.full().is_ok() {
            return Ok(());
        }
        if state.closing {
            return Err("the disk is full, and what was queued is not written".to_owned());
        }
        let waited = self.shared.arrived.wait_timeout(state, ROOM_PAUSE);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
        Ok(())
    }

    /// What is not in the index is held in memory, and that must not grow without bounds.
    fn wait_for_index(&self) -> Result<(), String> {
        let mut state = self.shared.state();
        while state.unindexed_bytes > BEHIND_LIMIT && !state.has_failed() {
            state = self
                .shared
                .indexing
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.outcome().map_err(|error| error.to_string())
    }

    /// As the last frame it shows that nothing is missing behind it.
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
        let entry = crate::log::encode_entry(&append, |_| false).bytes;
        Ok(Queued::own(entry, added))
    }

    /// Makes the index durable, so that one that is behind a closed log is known to be damaged.
    fn finish(&self, end: Option<LogEnd>) -> Result<(), String> {
        end.map_or(Ok(()), LogEnd::close)?;
        if !self.is_indexed() {
            return Ok(());
        }
        let waiting = self.vouches.then(|| self.waiting()).flatten();
        // After the last that the index is asked, which may make it write.
        match self.index.flush(&index_place(&self.directory)) {
            // The log has everything. Without the note of the close, the next opening reads it.
            Err(why) if refused_by_disk(&why).is_some() => return Ok(()),
            flushed => flushed?,
        }
        let (trusted, end) = {
            let state = self.shared.state();
            let end = Manifest::of(self.journal, state.view.last, state.view.records);
            (!state.doubted, end)
        };
        if self.vouches && trusted {
            // Without it the next opening is slower, and nothing else.
            let kept = snapshots::keep_waiting(&self.directory, waiting.as_deref()).is_ok();
            closed::write_at_close(&self.directory, end, kept)
                .map_err(|error| format!("failed to note the close: {error}"))?;
        }
        Ok(())
    }

    /// True if the index has everything. It has not where the disk had no room for it.
    fn is_indexed(&self) -> bool {
        let state = self.shared.state();
        state.unindexed.is_empty() && !state.view.has_changed()
    }

    /// Where the streams stand that wait, so that the next opening need not ask the index for each;
    /// nothing where none does. An index that cannot tell is doubted.
    fn waiting(&self) -> Option<Vec<u8>> {
        let mut state = self.shared.state();
        if state.doubted {
            return None;
        }
        let rows = state.view.waiting(&self.index);
        let mark = self.index.mark(self.journal);
        let (Ok(rows), Ok(mark)) = (rows, mark) else {
            state.doubted = true;
            return None;
        };
        let mark = mark.filter(|_| !rows.is_empty())?;
        Some(kept::to_bytes(self.journal, mark, rows))
    }
}
