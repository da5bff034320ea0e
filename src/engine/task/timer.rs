//! The one timer of a session: it is set to the first time that something waits for, and stays
//! where that is taken back, since calls come and go more often than their time limits.

use tokio_util::task::AbortOnDropHandle;

use crate::session::Timestamp;

/// Tells the session that a time has come.
pub(in crate::engine) struct Timer {
    pub(in crate::engine) due: Timestamp,
    pub(super) _sleeps: AbortOnDropHandle<()>,
}
