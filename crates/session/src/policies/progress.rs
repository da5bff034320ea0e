//! The progress that a run reports, for example by notifications of an MCP server.

use serde::{Deserialize, Serialize};

/// The name of the `tool_event_emitted` that reports progress.
pub const PROGRESS_EVENT: &str = "progress";

/// The effect of the progress that a run reports.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// The time limit of the run starts again.
    ExtendsTimeout,
    /// The time limit starts again, and the model receives the progress as news of the call.
    Told,
}
