//! Recovers what can be recovered of a damaged journal, and says exactly what could not.
//!
//! Every frame is taken from the log if it is sound there, else from the index, which has the same
//! bytes; else its single appends that hold their checksums are taken. A stream lives on as far as
//! it has no gap and its chain of hashes holds; whole records behind that go into a salvage file.
//! The log is written anew beside the old one, which is kept. A repair does not know what a record
//! means.
//!
//! Read `options` and `report` first, then `repairing` (the order of things), `claiming`, `witness`
//! and `checking` (what is damaged), `rewriting` with `sources`, `appends`, `streams` and
//! `new_log`.

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
