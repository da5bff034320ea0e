//! The recording of streamed results.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::oneshot;

use super::start_guard::StartGuard;
use crate::engine::inputs::inbox::{Inbox, Input};
use crate::engine::telling::outcomes::Telling;
use crate::session::{Hook, ToolYielded};
use crate::tool::{State, ToolError};

/// Records one streamed result, and waits until that is done.
pub(in crate::engine) async fn recorded(
    (own, guard): (Inbox, StartGuard),
    telling: Arc<Telling>,
    value: Value,
    state: State,
) -> Result<(), ToolError> {
    let stopped = || ToolError::Cancelled("the session has stopped".to_owned());
    let mut response = telling.chunk(value);
    if telling.is_changed() {
        if !guard.may_begin() {
            return Err(stopped());
        }
        let seen = state.over();
        response = Box::pin(telling.changed(response, &seen)).await;
        let _ = own.send(Input::HookWrote(Hook::BeforeToolResponse, seen));
    }
    let recorded = on_record(&own, telling.yielded(response)).await;
    recorded.map_err(|_| stopped())
}

/// Sends one streamed result to the session. The receiver completes once it is recorded.
pub(in crate::engine) fn on_record(own: &Inbox, yielded: ToolYielded) -> oneshot::Receiver<()> {
    let (recorded, on_record) = oneshot::channel();
    let _ = own.send(Input::ToolYielded(yielded, recorded));
    on_record
}
