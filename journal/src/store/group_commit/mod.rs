//! Several appends in one write and sync, and the index behind them.

pub(super) mod committer;
mod company;
pub(super) mod end;
pub(super) mod floor;
pub(super) mod indexer;
pub(super) mod metrics;
pub(super) mod queue;
