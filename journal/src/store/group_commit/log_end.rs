//! The end of the log: it writes and syncs one commit at a time, updates the view, and
//! acknowledges.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::commit_delay::{BUFFERED_DELAY_MAX, CommitDelay};
use super::limits::{INDEX_BATCH_BYTES, INDEX_LAG_URGENT};
use super::queue::Shared;
use super::queued::Queued;
use super::state::State;
use crate::index::Index;
use crate::log::{FrameBytes, LogWriter, Unwritten, Written};

/// The number of consecutive appends to one stream that show a single writer.
const SINGLE_STREAM_APPENDS: u32 = 8;

/// The maximum time of a commit in place, which blocks a task of the caller's runtime. Handing it
/// to the committer and being woken again costs two times 35 to 50 µs on a virtual machine.
const IN_PLACE_COMMIT_MAX: Duration = Duration::from_micros(500);

/// The maximum size of a commit in place, in bytes, so that it is one short write and sync.
const IN_PLACE_BYTES: usize = 512 << 10;

/// The number of consecutive fast commits that predict that the next one is fast.
const FAST_COMMITS_MIN: u32 = 4;

/// The time for which that prediction holds: an idle disk may go to sleep.
const FAST_COMMITS_VALID_FOR: Duration = Duration::from_secs(1);

/// The log writer and the statistics of its last commits. It must not be used after an error.
pub(crate) struct LogEnd {
    writer: LogWriter,
    index: Arc<Index>,
    /// The number of consecutive fast commits up to the last one.
    fast_commits: u32,
    /// The stream of the last append.
    stream: Uuid,
    /// The number of consecutive appends to `stream` before the last one.
    stream_appends: u32,
    /// The end of the last commit.
    last_commit_ended: Instant,
    /// The number of appends in the last commit, and the time of its write and sync.
    last_commit: (usize, Duration),
}

impl LogEnd {
    pub(crate) fn new(writer: LogWriter, index: Arc<Index>) -> Self {
        Self {
            writer,
            index,
            fast_commits: 0,
            stream: Uuid::nil(),
            stream_appends: 0,
            last_commit_ended: Instant::now(),
            last_commit: (0, Duration::ZERO),
        }
    }

    /// Reports the last commit to the commit delay. Many appends of a single writer count as one.
    pub(super) fn report_last_commit(&self, delay: &mut CommitDelay) {
        let (appends, took) = self.last_commit;
        delay.after_commit(
            if self.stream_appends >= SINGLE_STREAM_APPENDS {
                1
            } else {
                appends
            },
            took,
        );
    }

    /// True if only this stream seems to append. Concurrent writers share a commit of the
    /// committer; on a runtime of one thread, commits in place would write them one after another.
    pub(crate) fn is_single_writer(&self, stream: Uuid) -> bool {
        (self.stream == stream && self.stream_appends >= SINGLE_STREAM_APPENDS)
            || self.last_commit_ended.elapsed() >= BUFFERED_DELAY_MAX
    }

    /// True if the queue can be committed now, and the only wait is most likely one short sync.
    pub(crate) fn can_commit_in_place(&self, state: &State) -> bool {
        self.fast_commits >= FAST_COMMITS_MIN
            && self.last_commit_ended.elapsed() < FAST_COMMITS_VALID_FOR
            && state.unindexed_bytes < INDEX_LAG_URGENT
            && state.queued_bytes() <= IN_PLACE_BYTES
            && self.writer.has_room_for(state.queued_bytes())
    }

    /// Commits and acknowledges the appends. On an error it fails the journal and rejects them.
    pub(crate) fn commit(&mut self, shared: &Shared, appends: Vec<Queued>) -> Result<(), String> {
        let tried = catch_unwind(AssertUnwindSafe(|| self.try_commit(shared, &appends)))
            .unwrap_or_else(|_| Err("a commit panicked".to_owned()));
        match tried {
            Ok(true) => {
                appends.into_iter().for_each(Queued::acknowledge);
                Ok(())
            }
            Ok(false) => {
                let free_and_floor = shared.floor.no_room();
                shared.state().no_room(appends, free_and_floor);
                Ok(())
            }
            Err(cause) => {
                // Later appends must be rejected before the first of these reports the failure.
                let cause = shared.state().fail(cause);
                appends.into_iter().for_each(|queued| queued.refuse(&cause));
                Err(cause)
            }
        }
    }

    /// Writes one commit. Returns false if the disk has no room for it and nothing was written.
    fn try_commit(&mut self, shared: &Shared, appends: &[Queued]) -> Result<bool, String> {
        let begun = Instant::now();
        let bytes = appends.iter().map(|queued| queued.bytes.len()).sum();
        let had_room = self.writer.has_room_for(bytes);
        let encoded = appends.iter().map(|queued| queued.bytes.as_slice());
        let (written, frame_bytes) = match self.writer.commit(encoded) {
            Ok(written) => written,
            Err(Unwritten::NoRoom) => return Ok(false),
            Err(Unwritten::Failed(error)) => {
                return Err(format!("failed to write and sync the log: {error}"));
            }
        };
        let took = begun.elapsed();
        self.publish(shared, appends, written, frame_bytes, took)?;
        self.fast_commits = fast_commits_after(self.fast_commits, had_room, took);
        for queued in appends {
            let stream = queued.added.session;
            self.stream_appends = if stream == self.stream {
                self.stream_appends.saturating_add(1)
            } else {
                0
            };
            self.stream = stream;
        }
        self.last_commit_ended = Instant::now();
        self.last_commit = (appends.len(), took);
        Ok(true)
    }

    /// Adds a synced commit to the view, and wakes the indexer.
    fn publish(
        &self,
        shared: &Shared,
        appends: &[Queued],
        written: Written,
        frame_bytes: FrameBytes,
        took: Duration,
    ) -> Result<(), String> {
        let frame_bytes = Arc::new(frame_bytes);
        let leaves = appends.iter().flat_map(|it| it.leaves.iter().copied());
        let leaves = leaves.collect();
        let wakes = {
            let mut state = shared.state();
            // If the index failed in the meantime, the commit is on disk, but it is not
            // acknowledged.
            state.outcome().map_err(|error| error.to_string())?;
            state.view.last = written;
            state
                .commit(appends, (&frame_bytes, leaves), &self.index)
                .map_err(|error| error.to_string())?;
            state
                .meter
                .committed(appends.len(), frame_bytes.0.len(), took);
            state.unindexed.len() == 1 || state.unindexed_bytes >= INDEX_BATCH_BYTES
        };
        if wakes {
            shared.indexing.notify_all();
        }
        Ok(())
    }

    /// Closes the log, and leaves nothing but frames in it.
    pub(crate) fn close(mut self) -> Result<(), String> {
        self.writer
            .close()
            .map_err(|error| format!("failed to close the log: {error}"))
    }
}

/// The number of consecutive fast commits after one more commit.
fn fast_commits_after(fast_commits: u32, had_room: bool, took: Duration) -> u32 {
    match (had_room, took <= IN_PLACE_COMMIT_MAX) {
        (true, true) => fast_commits.saturating_add(1),
        (true, false) => 0,
        // The time to make room does not predict the next commit.
        (false, _) => fast_commits,
    }
}

#[cfg(all(test, feature = "testing"))]
#[path = "log_end_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests;
