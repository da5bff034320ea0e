//! What a program that embeds Recount names.

pub use recount_macros::tool;
pub use serde_json::{Value, json};

#[cfg(feature = "live")]
pub use crate::engine::Live;
pub use crate::engine::{
    Agent, ConfirmationProvider, ConfirmationRequest, Engine, FunctionResponse, LiveHandle,
    StaticConfirmation, Ticket, ToolConfirmation, Updates,
};
#[cfg(feature = "live")]
pub use crate::live::Endpoint;
pub use crate::session::{Actor, InDoubt, RequestId, SessionId};
pub use crate::tool::{
    LongRunningFunctionTool, Pending, SimpleTool, T, ToolContext, ToolDispatcher, ToolError,
    ToolFunction, Toolset, TypedTool,
};
