//! Tools: what a model may call, what holds for each of them, and how one call is run. It does not know who asked, what was
//! journaled, or whether a person agreed.

mod agents;
mod answer_members;
mod answering;
mod arguments;
#[doc(hidden)]
pub mod attribute;
mod calling;
#[cfg(feature = "programs")]
mod command;
mod confirmation;
mod context;
mod defaults;
mod digits;
mod dispatcher;
mod ecma;
mod error;
mod following;
mod function;
mod gate;
mod gate_choice;
#[cfg(feature = "programs")]
pub(crate) mod implementation;
mod input;
mod input_streaming_tool;
mod listeners;
mod long_running;
mod mistake;
mod next;
mod outcome;
mod pipeline;
pub mod policy_file;
mod policy_tool;
#[cfg(feature = "programs")]
pub(crate) mod process_group;
#[cfg(feature = "programs")]
pub(crate) mod program_env;
mod provider_desk;
mod result_formatter;
mod runs;
mod schema_anchors;
mod schema_patterns;
mod schema_work;
mod services;
mod simple;
mod state;
mod state_watch;
mod streaming_tool;
mod t;
mod t_policies;
mod ticket;
mod tool_event;
#[cfg(all(feature = "programs", feature = "toml"))]
pub mod tools_file;
mod toolset;
mod typed;
mod yielding;

pub use crate::session::ToolPolicy;
#[cfg(feature = "gemini-http")]
pub use agents::GeminiLlm;
pub use agents::{
    AgentAsk, AgentSoFar, AgentStep, AgentTurnSoFar, BaseLlm, LlmAgent, LlmAnswer, LlmContent,
    LlmError, LlmReply, LlmRequest, LlmSaid, LlmTool, ScriptedLlm, Sequence, TextAgent,
    TextAgentTool, sequence,
};
pub(crate) use answer_members::{AnswerMembers, malformed};
pub(crate) use answering::{Asked, takes_payload};
#[cfg(feature = "mcp")]
pub(crate) use arguments::ArgumentCheck;
#[cfg(feature = "mcp")]
pub(crate) use arguments::{check_pattern, invalid_places};
#[cfg(feature = "programs")]
pub use command::CommandTool;
pub use confirmation::{
    ConfirmationProvider, ConfirmationRequest, StaticConfirmation, ToolConfirmation,
};
pub(crate) use context::Identity;
pub use context::ToolContext;
pub use defaults::{
    ContextGiven, END_SESSION, ESCALATE, EndSession, Escalated, Escalation, EscalationReply,
    EscalationRequest, EscalationStatus, GET_CONTEXT,
};
pub(crate) use digits::{exact_value, is_inexact, restored};
pub use dispatcher::ToolDispatcher;
pub use error::ToolError;
pub use function::ToolFunction;
pub(crate) use gate::verdict;
pub use input::InputEvent;
pub use input_streaming_tool::InputStreamingTool;
pub use listeners::{Emitted, Subscription};
pub(crate) use listeners::{Listeners, hear};
pub use long_running::LongRunningFunctionTool;
#[cfg(feature = "mcp")]
pub(crate) use mistake::is_name;
pub use mistake::{RegistrationError, ToolMistake};
pub use outcome::{Ask, Pending, ToolOutcome};
pub use policy_tool::PolicyTool;
#[cfg(feature = "play")]
pub(crate) use policy_tool::without_note;
pub(crate) use provider_desk::answered_by;
pub use result_formatter::{
    DefaultResultFormatter, FunctionCall, ResultFormatter, ToolExecutionMode,
};
pub use services::Services;
pub use simple::SimpleTool;
pub use state::State;
pub(crate) use state::Temporary;
pub(crate) use state_watch::Watchers;
pub use state_watch::{Watch, Watched, WatchedChange};
pub use streaming_tool::StreamingTool;
pub use t::T;
pub use ticket::{FunctionResponse, Ticket};
pub use tool_event::ToolEvent;
pub(crate) use tool_event::{EVENTS_WAITING_MAX, Emitter, LookBack, ToolEvents};
pub use toolset::Toolset;
pub use typed::TypedTool;
