//! Counters of an open journal.

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
    /// The number of appends that wait for their commit now.
    pub queue_depth: usize,
    /// The maximum number of appends that waited at once.
    pub queue_depth_max: usize,
    /// The number of committed appends.
    pub appends: u64,
    /// The number of commits. `appends / commits` is the mean batch.
    pub commits: u64,
    /// The number of appends in the largest commit.
    pub batch_max: usize,
    /// The bytes of frames written to the log.
    pub bytes: u64,
    /// The total time of all writes and syncs.
    pub sync_total: Duration,
    /// The time of the longest write and sync.
    pub sync_max: Duration,
    /// The time of the last write and sync.
    pub sync_last: Duration,
    /// The bytes of frames that the index does not have yet.
    pub index_behind_bytes: usize,
}

/// The counters behind [`Metrics`].
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
