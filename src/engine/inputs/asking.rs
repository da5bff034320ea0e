//! Tools that wait for an answer where they stand: what they ask goes on record before anybody is
//! asked, and the answer before they go on.

use tokio::sync::oneshot;

use crate::session::{Phase, Seq, Session};
use crate::tool::{ToolConfirmation, ToolError};

/// The way back to a tool.
pub(in crate::engine) type ToTool = oneshot::Sender<Result<ToolConfirmation, ToolError>>;

/// A tool that waits.
pub(in crate::engine) struct Waiting {
    pub(in crate::engine) request: Seq,
    pub(in crate::engine) hint: String,
    pub(in crate::engine) tool: ToTool,
}

/// The open request of a call whose tool waits where it stands.
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
