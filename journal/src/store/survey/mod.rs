//! The survey: a reading of a log that may be damaged, which takes what can be read and notes the
//! rest.
//!
//! It changes nothing and decides nothing. An opening names the damaged record with it, a repair
//! and a verification look for what is wrong with it.
//!
//! Read `finding` first, then `streams` (the chain of each stream) and `log`.

mod finding;
mod log;
mod streams;

pub use finding::Finding;
pub(crate) use log::{BEHIND, Survey, of_log};
pub(crate) use streams::Streams;
