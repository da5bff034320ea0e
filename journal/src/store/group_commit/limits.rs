//! The limits of the queue, of a commit, and of the frames that the index does not have yet.

/// The maximum queue, in appends and bytes; behind it appends wait for room.
pub(super) const QUEUE_LIMIT: (usize, usize) = (4_096, 32 << 20);

/// The maximum commit, in appends and bytes.
pub(super) const COMMIT_LIMIT: (usize, usize) = (1_024, 2 << 20);

/// The bytes of frames that go into the index before their time.
pub(super) const GATHER_BYTES: usize = 1 << 20;

/// The bytes of frames that may wait for the index. With more, the indexer no longer yields to
/// other threads, and no append commits in place.
pub(super) const HURRY_BYTES: usize = 8 << 20;
