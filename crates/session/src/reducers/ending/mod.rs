//! Ends from outside: cancelled calls, outcomes found later, and the close of the session.
//!
//! The tracker handles the end of a call that ran. The files do not depend on each other.

pub(crate) mod cancellation;
pub(crate) mod closing;
pub(crate) mod reconciliation;
