//! The group commit: many appends in one write and sync, and the index behind them.
//!
//! A caller puts its append into the queue and waits for the acknowledgement. The committer, a
//! thread, takes the queued appends, writes and syncs them as one frame, and acknowledges them. The
//! indexer, another thread, brings the index up to the log. While one stream appends, its appends
//! commit in the caller's poll. This module does not find or open a journal, and reads nothing
//! back.
//!
//! Read `queue` first (what callers do), then `state` (the mutable state under one lock), `queued`,
//! `log_end` (one commit), `committer`, `commit_delay` and `waiting` (the wait for more appends),
//! `indexer`. Beside them: `limits`, `floor` and `full_disk` (a disk without room), `metrics`.

mod commit_delay;
pub(super) mod committer;
pub(super) mod floor;
mod full_disk;
pub(super) mod indexer;
mod limits;
pub(super) mod log_end;
pub(super) mod metrics;
pub(super) mod queue;
mod queued;
pub(super) mod state;
mod waiting;
