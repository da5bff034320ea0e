//! Tools: the functions that a model may call, their policies, and the run of one call.
//!
//! The crate knows neither the requester nor the journal nor the approval. The library re-exports
//! it as `recount::tool`.

mod agents;
mod approval;
#[doc(hidden)]
pub mod attribute;
mod defaults;
mod dispatch;
mod kinds;
mod models;
pub mod policy_file;
#[cfg(feature = "programs")]
mod programs;
mod run;
mod schema;
mod tools;
mod typed;

pub use agents::llm_agent::LlmAgent;
pub use agents::sequence::{Sequence, sequence};
pub use approval::confirmation::{ConfirmationProvider, ConfirmationRequest, StaticConfirmation};
pub use defaults::end_session::{END_SESSION, EndSession};
pub use defaults::escalate::{
    ESCALATE, Escalated, Escalation, EscalationReply, EscalationRequest, EscalationStatus,
};
pub use defaults::get_context::{ContextGiven, GET_CONTEXT};
pub use dispatch::dispatcher::ToolDispatcher;
pub use kinds::function::ToolFunction;
pub use kinds::input_streaming_tool::InputStreamingTool;
pub use kinds::long_running::LongRunningFunctionTool;
pub use kinds::simple::SimpleTool;
pub use kinds::streaming_tool::StreamingTool;
pub use kinds::typed_tool::TypedTool;
#[cfg(feature = "gemini-http")]
pub use models::gemini::gemini_llm::GeminiLlm;
pub use models::llm::{
    BaseLlm, LlmAnswer, LlmContent, LlmError, LlmReply, LlmRequest, LlmSaid, LlmTool,
};
pub use models::scripted_llm::ScriptedLlm;
#[cfg(feature = "programs")]
pub use programs::*;
pub use recount_session::{ToolConfirmation, ToolPolicy};
pub use run::context::ToolContext;
pub use run::error::ToolError;
pub use run::input::InputEvent;
pub use run::listeners::{Emitted, Subscription};
pub use run::outcome::{Ask, Pending, ToolOutcome};
pub use run::result_formatter::{
    DefaultResultFormatter, FunctionCall, ResultFormatter, ToolExecutionMode,
};
pub use run::services::Services;
pub use run::state::State;
pub use run::state_watch::{Watch, Watched, WatchedChange};
pub use run::ticket::{FunctionResponse, Ticket};
pub use run::tool_event::ToolEvent;
pub use tools::mistake::{RegistrationError, ToolMistake};
pub use tools::policy_tool::PolicyTool;
pub use tools::t::T;
pub use tools::text_agent::{
    AgentAsk, AgentSoFar, AgentStep, AgentTurnSoFar, TextAgent, TextAgentTool,
};
pub use tools::tool_changes::ToolChanges;
pub use tools::toolset::Toolset;

// Items for the other crates of the workspace.
#[doc(hidden)]
pub use crate::approval::answer_members::{AnswerMembers, malformed};
pub use crate::approval::answering::{Asked, takes_payload};
pub use crate::dispatch::gate_choice::GateChoice;
pub use crate::dispatch::provider_asker::answered_by;
pub use crate::kinds::long_running::without_note;
pub use crate::run::context::Identity;
pub use crate::run::listeners::{Listeners, hear};
pub use crate::run::state::Temporary;
pub use crate::run::state_watch::Watchers;
pub use crate::run::tool_event::{EVENTS_WAITING_MAX, Emitter, LookBack, ToolEvents};
pub use crate::schema::arguments::{ArgumentCheck, check_pattern, invalid_places};
pub use crate::tools::mistake::is_name;
pub use crate::tools::predicate::verdict;
pub use crate::typed::digits::{exact_value, is_inexact, restored};
