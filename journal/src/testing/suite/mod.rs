//! The checks that every [`Journal`](crate::Journal) must pass, whatever stores its records.
//!
//! A check is a function that gets [`Open`], and panics at the first difference. The macro
//! [`journal_suite`](crate::journal_suite) makes a test of each check. A check asserts only what
//! the trait promises: positions may have gaps, a buffered append may be committed before it is
//! acknowledged, a store may keep no snapshots, and records of the journal's own stream may stand
//! between others.
//!
//! ```
//! use std::sync::Arc;
//! use recount_journal::MemoryJournal;
//! use recount_journal::testing::suite::{self, Open};
//!
//! fn in_memory(check: fn(Open<'_>)) {
//!     check(&|_name| Arc::new(MemoryJournal::new()));
//! }
//!
//! mod of_memory {
//!     recount_journal::journal_suite!(super::in_memory);
//! }
//! # fn main() {
//!
//! // One of them, by itself.
//! in_memory(suite::appends::stale_writer_gets_conflict);
//! # }
//! ```

pub mod appends;
pub mod exports;
pub mod following;
pub mod limits;
pub mod same_answers;
pub mod sealing;
pub mod spans;
mod store;

pub use store::{Open, reopened};
