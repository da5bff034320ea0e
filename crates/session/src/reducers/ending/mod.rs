//! Ends from outside: calls that are taken back, outcomes found later, the close of the session.
//!
//! The end of a call that ran is the tracker's. Each file stands for itself.

pub(crate) mod cancellation;
pub(crate) mod closing;
pub(crate) mod reconciliation;
