//! Batches on record: what is sealed, redacted and checked before, and published behind.
//!
//! Read `record`, which holds the one path to the journal.

mod answers;
mod arrivals;
mod attach;
mod fixture;
mod full_disk;
pub(super) mod implementations;
mod record;
mod redaction;
pub(super) mod secrets;
