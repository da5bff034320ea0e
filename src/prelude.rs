//! The names that an embedding program usually needs.

pub use recount_macros::tool;
pub use serde_json::{Value, json};

pub use crate::engine::Live;
pub use crate::engine::{
    Agent, ConfirmationProvider, ConfirmationRequest, Engine, FunctionResponse, LiveHandle,
    StaticConfirmation, Ticket, ToolConfirmation, Updates,
};
pub use crate::live::Endpoint;
#[cfg(feature = "mcp")]
pub use crate::mcp::{McpServer, McpTools};
pub use crate::session::{
    Actor, Comparison, Condition, FunctionResponseScheduling, InDoubt, RequestId, S, SessionId,
};
pub use crate::tool::{
    FunctionCall, InputEvent, InputStreamingTool, LongRunningFunctionTool, Pending, PolicyTool,
    ResultFormatter, SimpleTool, State, StreamingTool, T, ToolContext, ToolDispatcher, ToolError,
    ToolExecutionMode, ToolFunction, ToolPolicy, Toolset, TypedTool,
};
