//! The progress that a run reports, as an MCP server does by its notifications.

use serde::{Deserialize, Serialize};

/// The name of the `tool_event_emitted` that says that a run has come further.
pub const PROGRESS_EVENT: &str = "progress";

/// The effect of the progress that a run reports.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// The time limit of the run starts again.
    ExtendsTimeout,
    /// So it does, and the model is told as news of the call.
    Told,
}
