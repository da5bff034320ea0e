//! A text agent as a tool that a model calls by name.

use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};

use super::TextAgent;
use super::llm_agent::names;
use crate::{PolicyTool, State, Toolset};

/// A text agent as a tool: `{"request": "…"}` is what it is asked, and its answer in words is the result, `{"output": "…"}`.
///
/// Its calls pass the same policies as any other and are on record under its own call. Tools of its own come with it, and the
/// model of the conversation is not told of them. A dispatcher that stands alone has no journal and runs no agents.
///
/// ```
/// use recount_tool::{LlmAgent, LlmReply, ScriptedLlm, State, T, TextAgentTool};
///
/// let verifier = LlmAgent::new("verifier", ScriptedLlm::new([LlmReply::text("It is Ada.")]));
/// let state = State::default();
/// let tool = TextAgentTool::new("verify_identity", "Verifies a caller's identity", verifier, state.clone());
/// let tools = T::timeout(tool, std::time::Duration::from_secs(120));
/// # let _ = tools;
/// ```
#[derive(Clone)]
pub struct TextAgentTool {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) agent: Arc<dyn TextAgent>,
    pub(crate) state: State,
}

impl TextAgentTool {
    /// Makes a tool of an agent.
    ///
    /// The agent reads and writes the state of the session in which it is called: that is what it shares, both ways. What `state` holds
    /// now it reads where that session has nothing under the same key. It is a copy: what is written to `state` later is not seen, and
    /// nothing is written to it.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        agent: impl TextAgent,
        state: State,
    ) -> TextAgentTool {
        TextAgentTool {
            name: name.into(),
            description: description.into(),
            agent: Arc::new(agent),
            // As it is now.
            state: state.over(),
        }
    }

    /// The agent.
    #[must_use]
    pub fn agent(&self) -> &Arc<dyn TextAgent> {
        &self.agent
    }

    /// What is read where a session has nothing.
    #[doc(hidden)]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The names of the tools that its model may call.
    #[doc(hidden)]
    pub fn callable(&self) -> Vec<String> {
        names(&*self.agent)
    }
}

impl From<TextAgentTool> for Toolset {
    /// The tool, and those of its agent, which the model of the conversation is not told of.
    fn from(tool: TextAgentTool) -> Toolset {
        let own = tool.agent.tools().map_all(PolicyTool::coming_with_agent);
        Toolset::from(PolicyTool::agent(tool)) | own
    }
}

impl fmt::Debug for TextAgentTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextAgentTool")
            .field("name", &self.name)
            .field("agent", &self.agent.name())
            .finish_non_exhaustive()
    }
}

/// The JSON Schema of what an agent is called with.
pub(crate) fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "request": {"type": "string", "description": "What the agent is to do, in words"}
        },
        "required": ["request"],
    })
}
