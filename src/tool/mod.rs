//! Tools: what a model may call, what holds for each of them, and how one call is run. It does not know who asked, what was
//! journaled, or whether a person agreed.

mod arguments;
#[cfg(feature = "cli")]
mod command;
mod confirmation;
mod context;
mod dispatcher;
mod error;
mod function;
mod input;
mod input_streaming_tool;
mod long_running;
mod mistake;
mod outcome;
mod policy_tool;
mod simple;
mod streaming_tool;
mod t;
mod t_policies;
mod toolset;
mod yielding;

pub use crate::session::ToolPolicy;
#[cfg(feature = "cli")]
pub use command::CommandTool;
pub use confirmation::{
    ConfirmationProvider, ConfirmationRequest, StaticConfirmation, ToolConfirmation,
};
pub use context::ToolContext;
pub use dispatcher::ToolDispatcher;
pub use error::ToolError;
pub use function::ToolFunction;
pub use input::InputEvent;
pub use input_streaming_tool::InputStreamingTool;
pub use long_running::LongRunningFunctionTool;
pub use mistake::{RegistrationError, ToolMistake};
pub use outcome::{Pending, ToolOutcome};
pub use policy_tool::PolicyTool;
pub use simple::SimpleTool;
pub use streaming_tool::StreamingTool;
pub use t::T;
pub use toolset::Toolset;
