//! Recording: batches are sealed, redacted and checked, then appended and published.
//!
//! Read `batches`, which holds the only path to the journal. `pauses` has the stop switch, and
//! `tools` changes the tools of a session.

mod answers;
mod arrivals;
mod attach;
mod batches;
mod fixture;
mod full_disk;
pub(super) mod implementations;
mod pauses;
mod redaction;
mod secrets;
mod tools;
