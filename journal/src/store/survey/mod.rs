//! The survey: a reading of a log that may be damaged. It takes what can be read, and notes every
//! fault.
//!
//! It changes nothing and decides nothing. An opening uses it to name the damaged record, a repair
//! and a verification to find all faults.
//!
//! Read `finding` first, then `streams` (the chain of each stream) and `log`.

mod finding;
mod log;
mod streams;

pub use finding::Finding;
pub(crate) use log::{BEHIND, Survey, of_log};
pub(crate) use streams::Streams;
