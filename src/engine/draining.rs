//! Ending in good order: short work ends and is told, the rest stays for whoever comes next.

use tokio_util::task::AbortOnDropHandle;

use super::inbox::Reply;
use crate::session::Timestamp;

/// A session that ends as soon as nothing runs, and at a time at the latest.
pub(super) struct Draining {
    pub(super) until: Timestamp,
    /// Who waits for the end; more than one where an engine is shut down again.
    pub(super) replies: Vec<Reply<()>>,
    pub(super) _alarm: AbortOnDropHandle<()>,
}
