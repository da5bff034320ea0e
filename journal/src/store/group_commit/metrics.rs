//! What the journal counts about itself.

use std::time::Duration;

/// Counts and times since the journal was opened.
///
/// ```
/// use recount_journal::DiskJournal;
/// # let directory = tempfile::tempdir().unwrap();
/// let journal = DiskJournal::open(directory.path())?;
/// // The record of the opening is the first append.
/// assert_eq!(journal.metrics().appends, 1);
/// # Ok::<(), recount_journal::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Metrics {
    /// Appends that wait for their commit now.
    pub queue_depth: usize,
    /// The most that ever waited.
    pub queue_depth_max: usize,
    /// Appends committed.
    pub appends: u64,
    /// Commits; `appends / commits` is the mean batch.
    pub commits: u64,
    /// Appends in the largest commit.
    pub batch_max: usize,
    /// Bytes of frames written to the log.
    pub bytes: u64,
    /// Time spent in writing and syncing, all commits together.
    pub sync_total: Duration,
    /// The longest write and sync.
    pub sync_max: Duration,
    /// The last write and sync.
    pub sync_last: Duration,
    /// Bytes of frames that the index does not have yet.
    pub index_behind_bytes: usize,
}

/// Counts.
#[derive(Debug, Default)]
pub(crate) struct Meter(Metrics);

impl Meter {
    pub(crate) fn queued(&mut self, depth: usize) {
        self.0.queue_depth_max = self.0.queue_depth_max.max(depth);
    }

    pub(crate) fn committed(&mut self, appends: usize, bytes: usize, took: Duration) {
        let metrics = &mut self.0;
        metrics.appends += appends as u64;
        metrics.commits += 1;
        metrics.batch_max = metrics.batch_max.max(appends);
        metrics.bytes += bytes as u64;
        metrics.sync_total += took;
        metrics.sync_max = metrics.sync_max.max(took);
        metrics.sync_last = took;
    }

    pub(crate) fn read(&self, queue_depth: usize, index_behind_bytes: usize) -> Metrics {
        Metrics {
            queue_depth,
            index_behind_bytes,
            ..self.0
        }
    }
}
