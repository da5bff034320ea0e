//! Answers of a server to a call, read exactly, even if the library cannot read them.
//!
//! Only `unanswered` knows the transport of an answer, HTTP. Read `result`, then `raw_results`,
//! `unreadable` with `head`, `listed` and `lost`, then `raw` and `unanswered`.

mod head;
mod listed;
pub(super) mod lost;
pub(super) mod raw;
pub(super) mod raw_results;
pub(super) mod result;
pub(super) mod unanswered;
pub(super) mod unreadable;
