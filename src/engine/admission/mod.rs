//! Checks before a record: an answer against its question, an attempt that is refused, and what a
//! process left behind.
//!
//! It appends nothing. Each file stands for itself.

pub(super) mod answering;
pub(super) mod attempted_answer;
pub(super) mod opened_arguments;
pub(super) mod takeover;
