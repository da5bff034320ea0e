//! The limits of the queue, of a commit, and of the frames that the index does not have yet.

/// The maximum queue, in appends and bytes. Further appends wait for room.
pub(super) const QUEUE_LIMIT: (usize, usize) = (4_096, 32 << 20);

/// The maximum commit, in appends and bytes.
pub(super) const COMMIT_LIMIT: (usize, usize) = (1_024, 2 << 20);

/// The bytes of waiting frames from which the indexer writes before its interval ends.
pub(super) const INDEX_BATCH_BYTES: usize = 1 << 20;

/// The lag of the index, in bytes of frames, from which it becomes urgent. The indexer then no
/// longer yields to other threads, and no append commits in place.
pub(super) const INDEX_LAG_URGENT: usize = 8 << 20;
