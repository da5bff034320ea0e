//! What is on record of the run of a text agent, as the agent is told of it.

use super::agent_secrets::Secrets;
use crate::tool::{AgentTurnSoFar, LlmTool};

/// What is on record of a run.
pub(super) struct OnRecord {
    /// What it was asked.
    pub(super) request: String,
    pub(super) turns: Vec<AgentTurnSoFar>,
    /// Who asked last and has no reply.
    pub(super) asked: Option<String>,
    pub(super) tools: Vec<LlmTool>,
    /// What of all this is sealed.
    pub(super) secrets: Secrets,
}
