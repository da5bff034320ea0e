//! The recorded state of a text agent's run, as passed to the agent.

use super::agent_secrets::Secrets;
use crate::tool::{AgentTurnSoFar, LlmTool};

/// The recorded state of a run.
pub(in crate::engine) struct OnRecord {
    /// The request to the agent.
    pub(in crate::engine) request: String,
    pub(in crate::engine) turns: Vec<AgentTurnSoFar>,
    /// The agent whose request to a model has no reply yet.
    pub(in crate::engine) asked: Option<String>,
    pub(in crate::engine) tools: Vec<LlmTool>,
    /// The sealed values of all these.
    pub(in crate::engine) secrets: Secrets,
}
