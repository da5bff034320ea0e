//! Ending in good order: short work ends and is told, the rest stays for whoever comes next.

use tokio_util::task::AbortOnDropHandle;

use crate::engine::inputs::inbox::Reply;
use crate::session::Timestamp;

/// A session that ends as soon as nothing runs, and at a time at the latest.
pub(in crate::engine) struct Draining {
    pub(in crate::engine) until: Timestamp,
    /// Who waits for the end; more than one where an engine is shut down again.
    pub(in crate::engine) replies: Vec<Reply<()>>,
    pub(super) _alarm: AbortOnDropHandle<()>,
}
