//! The commit delay: how long the committer waits for more appends before it commits the queue.
//!
//! A commit costs about as much CPU time as some steps of a session: the system calls for the write
//! and its sync, and putting threads to sleep and waking them. Larger batches share that cost.

use std::time::Duration;

use super::limits::COMMIT_LIMIT;

/// The maximum delay of a buffered append. It joins the next durable commit instead of paying for
/// its own sync.
pub(super) const BUFFERED_DELAY_MAX: Duration = Duration::from_millis(5);

/// The commit size, in appends, from which the committer delays for a larger batch. With that many
/// concurrent appends the CPU, not the disk, is the bottleneck. In bench `step`, crowd/512, a step
/// took 49.0 and 49.5 µs with the delay, 54.9 and 56.3 µs without it (`benches/README.md`).
const DELAY_FROM_APPENDS: usize = 16;

/// The number of active streams for each append of the target batch. The CPU works for the other
/// streams during the delay.
const ACTIVE_STREAMS_PER_APPEND: usize = 8;

/// The maximum number of polls of the queue in one delay.
pub(super) const POLLS_MAX: u32 = 4;

/// The maximum length of one poll. A poll takes as long as the last commit took.
pub(super) const POLL_MAX: Duration = Duration::from_micros(500);

/// The maximum number of commits without a delay after polls that found no append.
const SKIPS_MAX: u32 = 15;

/// The condition that wakes the committer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum WakeCondition {
    /// The first append of an empty queue. The committer is idle or at work.
    AnyAppend,
    /// A caller that waits for an append in the queue.
    AwaitedAppend,
    /// A batch of this many appends.
    Batch(usize),
}

/// The state of the commit delay from one commit to the next.
#[derive(Debug, Default)]
pub(super) struct CommitDelay {
    /// The length of one poll. `None` after a commit that was too small for a delay.
    poll: Option<Duration>,
    /// The number of commits without a delay that remain, including the next one.
    skips: u32,
    /// The number of commits that were skipped after the last empty poll.
    last_skips: u32,
}

impl CommitDelay {
    /// Updates the delay after a commit of `appends`, whose write and sync took `took`.
    pub(in crate::store) fn after_commit(&mut self, appends: usize, took: Duration) {
        self.poll = (appends >= DELAY_FROM_APPENDS).then(|| took.min(POLL_MAX));
        self.skips = self.skips.saturating_sub(1);
    }

    /// A delay with polls of any length.
    #[cfg(all(test, feature = "testing"))]
    pub(super) fn of_polls(poll: Duration) -> Self {
        Self {
            poll: Some(poll),
            ..Self::default()
        }
    }

    /// Skips the delay of the next commit because a poll found no append. Each further empty poll
    /// doubles the number of skipped delays.
    pub(super) fn poll_was_empty(&mut self) {
        self.last_skips = (self.last_skips * 2 + 1).min(SKIPS_MAX);
        self.skips = self.last_skips + 1;
    }

    /// Resets the skips because the delay filled its batch.
    pub(super) fn batch_was_filled(&mut self) {
        self.last_skips = 0;
    }

    /// The length of one poll, if the next commit is delayed.
    pub(in crate::store) fn poll(&self) -> Option<Duration> {
        self.poll.filter(|_| self.skips == 0)
    }
}

/// The number of appends that a delay waits for. It is at most what one commit takes.
pub(in crate::store) fn target_batch(active_streams: usize) -> usize {
    (active_streams / ACTIVE_STREAMS_PER_APPEND).min(COMMIT_LIMIT.0)
}
