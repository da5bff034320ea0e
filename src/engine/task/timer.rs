//! The one timer of a session.
//!
//! It is set to the earliest deadline. It stays set if that deadline is taken back, because calls
//! come and go more often than their time limits.

use tokio_util::task::AbortOnDropHandle;

use crate::session::Timestamp;

/// A timer that wakes the session at a time.
pub(in crate::engine) struct Timer {
    pub(in crate::engine) due: Timestamp,
    pub(super) _sleeps: AbortOnDropHandle<()>,
}
