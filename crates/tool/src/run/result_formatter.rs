//! The texts for the model about a call that runs in the background.

use serde_json::{Value, json};

use crate::run::error::ToolError;

/// A call as a formatter receives it.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionCall {
    /// The id on the wire, if there is one.
    pub id: Option<String>,
    /// The tool's name.
    pub name: String,
    /// The arguments; secret ones stay sealed.
    pub args: Value,
}

/// Formats the responses to a call that runs in the background.
///
/// ```
/// use recount_tool::{DefaultResultFormatter, FunctionCall, ResultFormatter, ToolError};
/// use serde_json::{Value, json};
///
/// struct VoiceFriendly;
///
/// impl ResultFormatter for VoiceFriendly {
///     fn format_running(&self, call: &FunctionCall) -> Value {
///         json!({"status": "searching", "for": call.args["query"]})
///     }
///     fn format_result(&self, call: &FunctionCall, result: Result<Value, ToolError>) -> Value {
///         DefaultResultFormatter.format_result(call, result)
///     }
///     fn format_cancelled(&self, call_id: &str) -> Value {
///         json!({"status": "cancelled", "id": call_id})
///     }
/// }
/// ```
pub trait ResultFormatter: Send + Sync + 'static {
    /// Returns the acknowledgement when the tool starts.
    fn format_running(&self, call: &FunctionCall) -> Value;

    /// Returns the acknowledgement of a call that waits for an approver. Called once at
    /// registration; the recorded policies contain the text.
    fn format_awaiting(&self, tool: &str) -> Value {
        json!({"status": "awaiting_confirmation", "tool": tool})
    }

    /// Returns the response with the result or the error.
    fn format_result(&self, call: &FunctionCall, result: Result<Value, ToolError>) -> Value;

    /// Returns the response to a call that an operator or the tool cancelled. `call_id` is the id
    /// on the wire, or else the call's own id.
    fn format_cancelled(&self, call_id: &str) -> Value;
}

/// The default formatter.
///
/// ```json
/// {"status":"running","tool":"search_kb"}
/// {"status":"awaiting_confirmation","tool":"search_kb"}
/// {"status":"completed","tool":"search_kb","result":{"found":3}}
/// {"status":"error","tool":"search_kb","error":"the index is away"}
/// {"status":"cancelled","call_id":"fc_123"}
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct DefaultResultFormatter;

impl ResultFormatter for DefaultResultFormatter {
    fn format_running(&self, call: &FunctionCall) -> Value {
        json!({"status": "running", "tool": call.name})
    }

    fn format_result(&self, call: &FunctionCall, result: Result<Value, ToolError>) -> Value {
        match result {
            Ok(result) => json!({"status": "completed", "tool": call.name, "result": result}),
            Err(error) => {
                json!({"status": "error", "tool": call.name, "error": error.to_string()})
            }
        }
    }

    fn format_cancelled(&self, call_id: &str) -> Value {
        json!({"status": "cancelled", "call_id": call_id})
    }
}

/// The execution mode of a tool's calls.
#[derive(Clone, Default)]
pub enum ToolExecutionMode {
    /// The model waits for the result.
    #[default]
    Standard,
    /// The model continues, and receives the result later.
    Background {
        /// The formatter; `None` for [`DefaultResultFormatter`].
        formatter: Option<std::sync::Arc<dyn ResultFormatter>>,
        /// The scheduling of the result; `None` for `WHEN_IDLE`.
        scheduling: Option<recount_session::FunctionResponseScheduling>,
    },
}

impl std::fmt::Debug for ToolExecutionMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Standard => f.write_str("Standard"),
            Self::Background { scheduling, .. } => f
                .debug_struct("Background")
                .field("scheduling", scheduling)
                .finish_non_exhaustive(),
        }
    }
}
