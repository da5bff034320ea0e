//! What is on record of the run of a text agent, as the agent is told of it.

use super::agent_secrets::Secrets;
use crate::tool::{AgentTurnSoFar, LlmTool};

/// What is on record of a run.
pub(in crate::engine) struct OnRecord {
    /// What it was asked.
    pub(in crate::engine) request: String,
    pub(in crate::engine) turns: Vec<AgentTurnSoFar>,
    /// Who asked last and has no reply.
    pub(in crate::engine) asked: Option<String>,
    pub(in crate::engine) tools: Vec<LlmTool>,
    /// What of all this is sealed.
    pub(in crate::engine) secrets: Secrets,
}
