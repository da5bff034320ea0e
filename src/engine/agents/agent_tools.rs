//! Text agents that the model calls by name.

use super::agent::Agent;
use crate::tool::{T, TextAgent};

impl Agent {
    /// Adds a text agent that the model calls by name; see
    /// [`TextAgentTool`](crate::tool::TextAgentTool).
    ///
    /// ```
    /// use recount::prelude::*;
    /// use recount::tool::{LlmAgent, LlmReply, ScriptedLlm};
    ///
    /// let verifier = LlmAgent::new("verifier", ScriptedLlm::new([LlmReply::text("It is Ada.")]));
    /// let agent = Agent::new()
    ///     .model("gemini-3.8-live")
    ///     .agent_tool("verify_identity", "Verifies a caller's identity", verifier);
    /// # let _ = agent;
    /// ```
    pub fn agent_tool(
        self,
        name: impl Into<String>,
        description: impl Into<String>,
        agent: impl TextAgent,
    ) -> Agent {
        self.tools(T::agent(name, description, agent))
    }
}
