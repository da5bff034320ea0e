//! The state of a drain: short work finishes and is delivered, the rest is left to the next
//! process.

use tokio_util::task::AbortOnDropHandle;

use crate::engine::inputs::inbox::Reply;
use crate::session::Timestamp;

/// A drain in progress. It ends as soon as nothing runs, or when its time is up.
pub(in crate::engine) struct Draining {
    pub(in crate::engine) until: Timestamp,
    /// The callers that wait for the end; several if an engine is shut down again.
    pub(in crate::engine) replies: Vec<Reply<()>>,
    pub(super) _alarm: AbortOnDropHandle<()>,
}
