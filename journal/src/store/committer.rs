//! The thread that writes: log, sync, acknowledge. The index follows on a thread of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use futures_channel::oneshot;
use uuid::Uuid;

use super::indexer::GATHER_BYTES;
use super::queue::{Queued, Shared};
use super::{closed, recovery, system};
use crate::index::Index;
use crate::log::LogWriter;
use crate::view::Added;

/// How many bytes the index may be behind before commits wait for it.
const BEHIND_LIMIT: usize = 64 << 20;

/// Owns the end of the log.
pub(crate) struct Committer {
    pub(crate) shared: Arc<Shared>,
    pub(crate) writer: LogWriter,
    pub(crate) index: Arc<Index>,
    pub(crate) directory: PathBuf,
    /// Whether the log is in the directory, so that a clean close can vouch for it.
    pub(crate) vouches: bool,
    pub(crate) clock: Arc<dyn Fn() -> i64 + Send + Sync>,
}

impl Committer {
    /// Works until the journal closes or fails, then lets go of everything; `_ended` falls when that is done.
    pub(crate) fn run(
        mut self,
        indexer: JoinHandle<Result<(), String>>,
        _ended: oneshot::Sender<()>,
    ) {
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
        let ended = worked.and(indexed).and_then(|()| self.finish());
        let Self {
            shared,
            index,
            writer,
            ..
        } = self;
        drop((index, writer));
        let mut state = shared.state();
        if let Err(cause) = ended {
            state.fail(cause);
        }
        state.release();
    }

    fn work(&mut self) -> Result<(), String> {
        loop {
            let appends = self.shared.next();
            if appends.is_empty() {
                return self.close();
            }
            self.commit(appends)?;
        }
    }

    fn commit(&mut self, appends: Vec<Queued>) -> Result<(), String> {
        let begun = Instant::now();
        let entries = appends.iter().map(|queued| queued.entry.as_slice());
        let (written, block) = match self.writer.commit(entries) {
            Ok(written) => written,
            Err(error) => {
                let cause = format!("failed to write and sync the log: {error}");
                // Later appends must be refused before the first of these learns of it.
                self.shared.state().fail(cause.clone());
                appends.into_iter().for_each(|queued| queued.refuse(&cause));
                return Err(cause);
            }
        };
        let took = begun.elapsed();
        let block = Arc::new(block);
        let wakes = {
            let mut state = self.shared.state();
            if let Err(cause) = state.outcome() {
                // The index failed meanwhile; what is on the disk is found there, but nobody is told so.
                drop(state);
                let cause = cause.to_string();
                appends.into_iter().for_each(|queued| queued.refuse(&cause));
                return Err(cause);
            }
            state.view.last = written;
            state
                .commit(&appends, &block, &self.index)
                .map_err(|error| error.to_string())?;
            state.meter.committed(appends.len(), block.0.len(), took);
            state.unindexed.len() == 1 || state.unindexed_bytes >= GATHER_BYTES
        };
        if wakes {
            self.shared.indexing.notify_all();
        }
        appends.into_iter().for_each(Queued::acknowledge);
        self.wait_for_index()
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

    /// A closing record as the last frame shows that nothing is missing behind it.
    fn close(&mut self) -> Result<(), String> {
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
        self.commit(vec![Queued::own(entry, added)])
    }

    /// Makes the index durable, so that one that is behind a closed log is known to be damaged.
    fn finish(&mut self) -> Result<(), String> {
        let closing = |error| format!("failed to close the log: {error}");
        self.writer.close().map_err(closing)?;
        self.index.flush(&recovery::index_place(&self.directory))?;
        let trusted = !self.shared.state().doubted;
        if self.vouches && trusted {
            closed::write(&self.directory)
                .map_err(|error| format!("failed to note the close: {error}"))?;
        }
        Ok(())
    }
}
