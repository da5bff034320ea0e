//! Tools that wait for an answer while they run.
//!
//! The question is recorded before an approver gets it, and the answer before the tool continues.

use tokio::sync::oneshot;

use crate::session::{Phase, Seq, Session};
use crate::tool::{ToolConfirmation, ToolError};

/// The reply channel to a tool.
pub(in crate::engine) type ToTool = oneshot::Sender<Result<ToolConfirmation, ToolError>>;

/// A waiting tool.
pub(in crate::engine) struct Waiting {
    pub(in crate::engine) request: Seq,
    pub(in crate::engine) hint: String,
    pub(in crate::engine) tool: ToTool,
}

/// Returns the open request of a call whose tool waits while it runs.
pub(in crate::engine) fn open_request(session: &Session, call: Seq) -> Option<Seq> {
    let open = session.calls.get(&call)?;
    if let Phase::AwaitingConfirmation { request, .. } = open.phase
        && open.in_place().is_some()
    {
        Some(request)
    } else {
        None
    }
}
