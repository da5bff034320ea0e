//! Tools: what a model may call, what holds for each of them, and how one call is run. It does not know who asked, what was
//! journaled, or whether a person agreed. An embedder names it `recount::tool`.

mod agents;
mod answer_members;
mod answering;
mod arguments;
#[doc(hidden)]
pub mod attribute;
mod calling;
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
mod programs;
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
mod toolset;
mod typed;
mod yielding;

#[cfg(feature = "gemini-http")]
pub use agents::GeminiLlm;
pub use agents::{
    AgentAsk, AgentSoFar, AgentStep, AgentTurnSoFar, BaseLlm, LlmAgent, LlmAnswer, LlmContent,
    LlmError, LlmReply, LlmRequest, LlmSaid, LlmTool, ScriptedLlm, Sequence, TextAgent,
    TextAgentTool, sequence,
};
pub use confirmation::{ConfirmationProvider, ConfirmationRequest, StaticConfirmation};
pub use context::ToolContext;
pub use defaults::{
    ContextGiven, END_SESSION, ESCALATE, EndSession, Escalated, Escalation, EscalationReply,
    EscalationRequest, EscalationStatus, GET_CONTEXT,
};
pub use dispatcher::ToolDispatcher;
pub use error::ToolError;
pub use function::ToolFunction;
pub use input::InputEvent;
pub use input_streaming_tool::InputStreamingTool;
pub use listeners::{Emitted, Subscription};
pub use long_running::LongRunningFunctionTool;
pub use mistake::{RegistrationError, ToolMistake};
pub use outcome::{Ask, Pending, ToolOutcome};
pub use policy_tool::PolicyTool;
#[cfg(feature = "programs")]
pub use programs::*;
pub use recount_session::{ToolConfirmation, ToolPolicy};
pub use result_formatter::{
    DefaultResultFormatter, FunctionCall, ResultFormatter, ToolExecutionMode,
};
pub use services::Services;
pub use simple::SimpleTool;
pub use state::State;
pub use state_watch::{Watch, Watched, WatchedChange};
pub use streaming_tool::StreamingTool;
pub use t::T;
pub use ticket::{FunctionResponse, Ticket};
pub use tool_event::ToolEvent;
pub use toolset::Toolset;
pub use typed::TypedTool;

// The other crates of the workspace use these.
#[doc(hidden)]
pub use crate::{
    answer_members::{AnswerMembers, malformed},
    answering::{Asked, takes_payload},
    arguments::{ArgumentCheck, check_pattern, invalid_places},
    context::Identity,
    digits::{exact_value, is_inexact, restored},
    gate::verdict,
    gate_choice::GateChoice,
    listeners::{Listeners, hear},
    mistake::is_name,
    policy_tool::without_note,
    provider_desk::answered_by,
    state::Temporary,
    state_watch::Watchers,
    tool_event::{EVENTS_WAITING_MAX, Emitter, LookBack, ToolEvents},
};
