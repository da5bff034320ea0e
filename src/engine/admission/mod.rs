//! Checks before an append: an answer against its request, a refused attempt, a client's result,
//! and the remains of a dead process.
//!
//! It appends nothing. Each file is independent.

pub(super) mod answering;
pub(super) mod attempted_answer;
pub(super) mod client_results;
pub(super) mod opened_arguments;
pub(super) mod takeover;
