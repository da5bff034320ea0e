//! Agents as tools: text agents that a model calls by name, the language models behind them, and what both say to each other.
//!
//! An agent is a pure function from its run so far to its next step. Who asks the model, keeps what it said, and runs its calls is
//! the engine: everything is on record, so a run goes on where it stood. Nothing here knows a session.

#[cfg(feature = "gemini-http")]
mod gemini;
mod llm;
mod llm_agent;
mod scripted_llm;
mod sequence;
mod text_agent;
mod text_agent_tool;

#[cfg(feature = "gemini-http")]
pub use gemini::GeminiLlm;
pub use llm::{BaseLlm, LlmAnswer, LlmContent, LlmError, LlmReply, LlmRequest, LlmSaid, LlmTool};
pub use llm_agent::LlmAgent;
pub use scripted_llm::ScriptedLlm;
pub use sequence::{Sequence, sequence};
pub use text_agent::{AgentAsk, AgentSoFar, AgentStep, AgentTurnSoFar, TextAgent};
pub use text_agent_tool::TextAgentTool;
pub(super) use text_agent_tool::parameters;
