//! Settings of `LiveBuilder` that its agent keeps: text agents and the recording.

use super::live::LiveBuilder;
use crate::fixture::Recording;
use crate::tool::TextAgent;

impl LiveBuilder {
    /// Records the session as a fixture in this directory, which must not contain one yet; see
    /// [`Agent::record_to`](crate::engine::Agent::record_to).
    ///
    /// ```
    /// # async fn example(
    /// #     model: recount::testing::ScriptedModel,
    /// # ) -> Result<(), Box<dyn std::error::Error>> {
    /// use recount::prelude::*;
    ///
    /// let live = Live::builder()
    ///     .model("gemini-live-2.5-flash")
    ///     .record_to("fixtures/refund")
    ///     .connect_with(model)
    ///     .await?;
    /// live.send_text("Please refund order 17.").await?;
    /// # Ok(()) }
    /// ```
    pub fn record_to(mut self, recording: impl Into<Recording>) -> LiveBuilder {
        self.agent.recording = Some((recording.into(), true));
        self
    }

    /// Adds a text agent that the model calls by name; see
    /// [`Agent::agent_tool`](crate::engine::Agent::agent_tool).
    pub fn agent_tool(
        mut self,
        name: impl Into<String>,
        description: impl Into<String>,
        agent: impl TextAgent,
    ) -> LiveBuilder {
        self.agent = self.agent.agent_tool(name, description, agent);
        self
    }
}
