//! Answers of approvers and operators, and what they need to count.
//!
//! Read `needs` (the terms of a request), then `answers` and `approval` (a partial answer).
//! `standing` has the leave that an answer may give, and `written` keeps the text that an approver
//! wrote.

pub(crate) mod answers;
pub(crate) mod approval;
pub(crate) mod needs;
pub(crate) mod standing;
mod written;
