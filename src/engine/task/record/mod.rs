//! Batches on record: what is sealed, redacted and checked before, and published behind.
//!
//! Read `batches`, which holds the one path to the journal.

mod answers;
mod arrivals;
mod attach;
mod batches;
mod fixture;
mod full_disk;
pub(super) mod implementations;
mod redaction;
mod secrets;
