//! The end of the log: one commit at a time is written, synced, taken into the view and
//! acknowledged.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::company::{COMPANY, Crowd};
use super::limits::{GATHER_BYTES, HURRY_BYTES};
use super::queue::Shared;
use super::queued::Queued;
use super::state::State;
use crate::index::Index;
use crate::log::{Block, LogWriter, Unwritten, Written};

/// How many appends of one stream alone show that nobody else appends.
const ALONE: u32 = 8;

/// How long a commit may take that is made by the append itself, in the middle of a task of its
/// caller's runtime. To hand it to the thread and to be woken again costs two times 35 to 50 µs on
/// a virtual machine.
const SWIFT: Duration = Duration::from_micros(500);

/// How many bytes such a commit takes at most, so that it is one short write and sync.
const IN_PLACE_BYTES: usize = 512 << 10;

/// How many commits in a row show that the next will be as swift.
const SWIFT_RUN: u32 = 4;

/// How long that is believed: a disk that nobody used may sleep.
const BELIEVED: Duration = Duration::from_secs(1);

/// What is needed to commit. After an error it must not be used again.
pub(crate) struct LogEnd {
    writer: LogWriter,
    index: Arc<Index>,
    /// How many of the last commits were swift.
    swift: u32,
    /// The stream of the last append, and how many before it were of the same one.
    stream: Uuid,
    run: u32,
    /// When the last commit had ended.
    ended: Instant,
    /// How many appends it was of, and how long its write and sync took.
    last: (usize, Duration),
}

impl LogEnd {
    pub(crate) fn new(writer: LogWriter, index: Arc<Index>) -> Self {
        Self {
            writer,
            index,
            swift: 0,
            stream: Uuid::nil(),
            run: 0,
            ended: Instant::now(),
            last: (0, Duration::ZERO),
        }
    }

    /// Tells what the last commit shows of a crowd; many appends of one stream alone are none.
    pub(super) fn tell(&self, crowd: &mut Crowd) {
        let (appends, took) = self.last;
        crowd.behind(if self.run >= ALONE { 1 } else { appends }, took);
    }

    /// True if nobody else seems to append. Several that append at the same time share a commit
    /// when its thread makes it, and on a runtime of one thread they would else be committed one
    /// after another.
    pub(crate) fn is_alone(&self, stream: Uuid) -> bool {
        (self.stream == stream && self.run >= ALONE) || self.ended.elapsed() >= COMPANY
    }

    /// True if what is queued will most likely be committed at once, with no wait but for one short
    /// sync.
    pub(crate) fn is_swift(&self, state: &State) -> bool {
        self.swift >= SWIFT_RUN
            && self.ended.elapsed() < BELIEVED
            && state.unindexed_bytes < HURRY_BYTES
            && state.queued_bytes() <= IN_PLACE_BYTES
            && self.writer.has_room_for(state.queued_bytes())
    }

    /// Commits and acknowledges, or fails the journal with the cause and refuses.
    pub(crate) fn commit(&mut self, shared: &Shared, appends: Vec<Queued>) -> Result<(), String> {
        let tried = catch_unwind(AssertUnwindSafe(|| self.try_commit(shared, &appends)))
            .unwrap_or_else(|_| Err("a commit panicked".to_owned()));
        match tried {
            Ok(true) => {
                appends.into_iter().for_each(Queued::acknowledge);
                Ok(())
            }
            Ok(false) => {
                let told = shared.floor.no_room();
                shared.state().no_room(appends, told);
                Ok(())
            }
            Err(cause) => {
                // Later appends must be refused before the first of these learns of it.
                let cause = shared.state().fail(cause);
                appends.into_iter().for_each(|queued| queued.refuse(&cause));
                Err(cause)
            }
        }
    }

    /// False if the disk has no room for it and nothing was written.
    fn try_commit(&mut self, shared: &Shared, appends: &[Queued]) -> Result<bool, String> {
        let begun = Instant::now();
        let bytes = appends.iter().map(|queued| queued.entry.len()).sum();
        let had_room = self.writer.has_room_for(bytes);
        let entries = appends.iter().map(|queued| queued.entry.as_slice());
        let (written, block) = match self.writer.commit(entries) {
            Ok(written) => written,
            Err(Unwritten::NoRoom) => return Ok(false),
            Err(Unwritten::Failed(error)) => {
                return Err(format!("failed to write and sync the log: {error}"));
            }
        };
        let took = begun.elapsed();
        self.take_in(shared, appends, written, block, took)?;
        self.swift = swift_behind(self.swift, had_room, took);
        for queued in appends {
            let stream = queued.added.session;
            self.run = if stream == self.stream {
                self.run.saturating_add(1)
            } else {
                0
            };
            self.stream = stream;
        }
        self.ended = Instant::now();
        self.last = (appends.len(), took);
        Ok(true)
    }

    /// Takes what is on disk into the view, and tells the indexer.
    fn take_in(
        &self,
        shared: &Shared,
        appends: &[Queued],
        written: Written,
        block: Block,
        took: Duration,
    ) -> Result<(), String> {
        let block = Arc::new(block);
        let wakes = {
            let mut state = shared.state();
            // If the index failed meanwhile, what is on the disk is found there, but nobody is told
            // so.
            state.outcome().map_err(|error| error.to_string())?;
            state.view.last = written;
            state
                .commit(appends, &block, &self.index)
                .map_err(|error| error.to_string())?;
            state.meter.committed(appends.len(), block.0.len(), took);
            state.unindexed.len() == 1 || state.unindexed_bytes >= GATHER_BYTES
        };
        if wakes {
            shared.indexing.notify_all();
        }
        Ok(())
    }

    /// Leaves nothing but frames in the log.
    pub(crate) fn close(mut self) -> Result<(), String> {
        self.writer
            .close()
            .map_err(|error| format!("failed to close the log: {error}"))
    }
}

/// How many commits in a row were swift, behind one more that took so long.
fn swift_behind(swift: u32, had_room: bool, took: Duration) -> u32 {
    match (had_room, took <= SWIFT) {
        (true, true) => swift.saturating_add(1),
        (true, false) => 0,
        // What it took to make room says nothing of the next.
        (false, _) => swift,
    }
}

#[cfg(all(test, feature = "testing"))]
#[path = "log_end_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests;
