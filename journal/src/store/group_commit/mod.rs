//! The group commit: many appends in one write and sync, and the index behind them.
//!
//! A caller puts its append into the queue and waits for the acknowledgement. The committer, a
//! thread, takes what is queued, writes and syncs it as one frame, and acknowledges. The indexer,
//! another thread, brings the index up to the log. An append that is alone commits in the caller's
//! poll. The room does not know how a journal is found and opened, and reads nothing back.
//!
//! Read `queue` first (what callers do), then `state` (all that changes, under one lock), `queued`,
//! `log_end` (one commit), `committer`, `company` and `waiting` (the wait for more appends),
//! `indexer`. Beside them: `limits`, `floor` and `full_disk` (a disk without room), `metrics`.

pub(super) mod committer;
mod company;
pub(super) mod floor;
mod full_disk;
pub(super) mod indexer;
mod limits;
pub(super) mod log_end;
pub(super) mod metrics;
pub(super) mod queue;
mod queued;
mod state;
mod waiting;
