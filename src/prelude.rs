//! What a program that embeds Recount names.

pub use serde_json::{Value, json};

pub use crate::engine::{
    Agent, ConfirmationProvider, ConfirmationRequest, Engine, FunctionResponse, LiveHandle,
    StaticConfirmation, Ticket, ToolConfirmation, Updates,
};
#[cfg(feature = "live")]
pub use crate::live::{Endpoint, Live};
pub use crate::session::{Actor, InDoubt, RequestId, SessionId};
pub use crate::tool::{
    LongRunningFunctionTool, Pending, SimpleTool, T, ToolContext, ToolDispatcher, ToolError,
    ToolFunction, Toolset,
};
