//! Answers of a server to a call, read exactly, also where the library cannot read them.
//!
//! They do not know how an answer came. Read `result`, then `raw_results`, `unreadable` with
//! `head`, `listed` and `lost`, then `raw` and `unanswered`.

mod head;
mod listed;
pub(super) mod lost;
pub(super) mod raw;
pub(super) mod raw_results;
pub(super) mod result;
pub(super) mod unanswered;
pub(super) mod unreadable;
