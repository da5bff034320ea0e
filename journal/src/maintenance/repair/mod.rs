//! The repair of a damaged journal. It recovers what it can, and reports exactly what it cannot.
//!
//! It takes each frame from the log if it is sound there, otherwise from the index, which has the
//! same bytes. If neither has it, the repair takes its single appends with valid checksums. A
//! stream survives up to its first gap or break in the chain of hashes. Complete records after that
//! go into a salvage file. The new log is written beside the old one, which is kept. A repair does
//! not interpret records.
//!
//! Read `options` and `report` first, then `repairing` (the steps), `claiming`, `witness` and
//! `checking` (what is damaged), `rewriting` with `sources`, `appends`, `streams` and `new_log`.

mod appends;
mod checking;
mod claiming;
mod new_log;
mod options;
mod repairing;
mod report;
mod rewriting;
mod sources;
mod streams;
mod witness;

pub use options::RepairOptions;
pub use repairing::repair;
pub use report::{Damage, Hurt, Remedy, Repaired};
