//! What the model is told of a call that it does not wait for.

use serde_json::{Value, json};

use crate::run::error::ToolError;

/// A call as a formatter sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionCall {
    /// Its id on the wire, where it has one.
    pub id: Option<String>,
    /// The tool's name.
    pub name: String,
    /// The arguments; what is secret among them stays sealed.
    pub args: Value,
}

/// Words what the model is told of a call that runs in the background.
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
    /// The acknowledgement, when the tool starts.
    fn format_running(&self, call: &FunctionCall) -> Value;

    /// The acknowledgement of a call that waits for a person. It is asked once, when the tool is
    /// registered, and its words are a part of the policies on record.
    fn format_awaiting(&self, tool: &str) -> Value {
        json!({"status": "awaiting_confirmation", "tool": tool})
    }

    /// The result, or why there is none.
    fn format_result(&self, call: &FunctionCall, result: Result<Value, ToolError>) -> Value;

    /// An operator took the call back, or the tool says that it was cancelled; `call_id` is the id
    /// on the wire, or else the call's own.
    fn format_cancelled(&self, call_id: &str) -> Value;
}

/// The words where nobody chose others.
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

/// How calls of a tool are executed.
#[derive(Clone, Default)]
pub enum ToolExecutionMode {
    /// The model waits for the result.
    #[default]
    Standard,
    /// The model goes on, and hears of the result when there is one.
    Background {
        /// Who words it; [`DefaultResultFormatter`] where nobody does.
        formatter: Option<std::sync::Arc<dyn ResultFormatter>>,
        /// When the model takes it up; `WHEN_IDLE` unless said otherwise.
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
