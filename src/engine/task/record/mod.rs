//! Recording: batches are sealed, redacted and checked, then appended and published.
//!
//! Read `batches`, which holds the only path to the journal.

mod answers;
mod arrivals;
mod attach;
mod batches;
mod fixture;
mod full_disk;
pub(super) mod implementations;
mod redaction;
mod secrets;
mod tools;
