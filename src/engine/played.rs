//! An agent as a fixture plays it: with the recorded model, and nobody in the process who answers for a person.

use std::future::pending;
use std::sync::Arc;

use async_trait::async_trait;

use super::agent::Agent;
use crate::live::Connector;
use crate::session::{Capabilities, PolicySet};
use crate::tool::{
    ConfirmationProvider, ConfirmationRequest, PolicyTool, ToolConfirmation, ToolDispatcher,
    Toolset,
};

impl Agent {
    /// An agent that has nothing but what is on record of one: its tools, and what held for them.
    pub(crate) fn of_record(model: &str, tools: Toolset, policies: &PolicySet) -> Agent {
        let mut dispatcher = ToolDispatcher::new();
        if let Some(limit) = policies.timeout {
            dispatcher = dispatcher.with_timeout(limit);
        }
        let mut agent = Agent::new()
            .model(model)
            .tools(tools)
            .tools(dispatcher)
            .response_shape(policies.response)
            .on_settled(policies.on_settled);
        if let Some(calls) = policies.running_max {
            agent = agent.running_max(calls);
        }
        let phases = policies.phases.iter().cloned();
        phases.fold(agent, Agent::with_phase)
    }

    /// Connects to the recorded model, has `body` stand in for each tool, and leaves answers to the fixture.
    pub(crate) fn played(
        mut self,
        model: impl Connector,
        capabilities: Option<Capabilities>,
        gates: bool,
        body: impl FnMut(PolicyTool) -> PolicyTool,
    ) -> Agent {
        self.connector = Some(Arc::new(model));
        self.capabilities = self.capabilities.or(capabilities);
        self.tools = self.tools.without_providers().map(body);
        // Gates hold where somebody can answer, which the fixture does.
        self.provider = gates.then(|| Arc::new(Silent) as Arc<dyn ConfirmationProvider>);
        self.recording = None;
        self
    }
}

/// Says nothing: the answers are in the fixture.
struct Silent;

#[async_trait]
impl ConfirmationProvider for Silent {
    async fn confirm(&self, _question: ConfirmationRequest) -> ToolConfirmation {
        pending().await
    }
}
