//! Tools: what a model may call, what holds for each of them, and how one call is run. It does not know who asked, what was
//! journaled, or whether a person agreed.

mod arguments;
#[doc(hidden)]
pub mod attribute;
#[cfg(feature = "cli")]
mod command;
mod context;
mod dispatcher;
mod error;
mod function;
mod long_running;
mod outcome;
mod registered;
mod simple;
mod t;
mod toolset;
mod typed;

#[cfg(feature = "cli")]
pub use command::CommandTool;
pub use context::ToolContext;
pub use dispatcher::{RegistrationError, ToolDispatcher, ToolMistake};
pub use error::ToolError;
pub use function::ToolFunction;
pub use long_running::LongRunningFunctionTool;
pub use outcome::{Pending, ToolOutcome};
pub use registered::RegisteredTool;
pub use simple::SimpleTool;
pub use t::T;
pub use toolset::Toolset;
pub use typed::TypedTool;
