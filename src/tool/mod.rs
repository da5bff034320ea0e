//! Tools: what a model may call, what holds for each of them, and how one call is run. It does not know who asked, what was
//! journaled, or whether a person agreed.

mod arguments;
#[cfg(feature = "cli")]
mod command;
mod context;
mod dispatcher;
mod error;
mod function;
mod long_running;
mod outcome;
mod registered;
mod result_formatter;
mod services;
mod simple;
mod state;
mod state_watch;
mod t;
mod ticket;
mod tool_event;
mod toolset;

#[cfg(feature = "cli")]
pub use command::CommandTool;
pub use context::ToolContext;
pub use dispatcher::{RegistrationError, ToolDispatcher, ToolMistake};
pub use error::ToolError;
pub use function::ToolFunction;
pub use long_running::LongRunningFunctionTool;
pub use outcome::{Pending, ToolOutcome};
pub use registered::RegisteredTool;
pub use result_formatter::{
    DefaultResultFormatter, FunctionCall, ResultFormatter, ToolExecutionMode,
};
pub use services::Services;
pub use simple::SimpleTool;
pub use state::State;
pub(crate) use state::Temporary;
pub(crate) use state_watch::Watchers;
pub use state_watch::{Watch, Watched, WatchedChange};
pub use t::T;
pub use ticket::{FunctionResponse, Ticket};
pub(crate) use tool_event::Emitter;
pub use tool_event::ToolEvent;
pub use toolset::Toolset;
