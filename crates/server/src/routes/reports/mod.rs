//! Reports: the audit, the export, verification and replay of a session, and metrics.

pub(crate) mod audit;
pub(crate) mod checking;
pub(crate) mod checkpoints;
pub(crate) mod export;
pub(crate) mod metrics;
mod parts;
pub(crate) mod reads;
