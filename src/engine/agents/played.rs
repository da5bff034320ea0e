//! An agent that plays a fixture: with the recorded model, and without a confirmation provider.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::agent::Agent;
use super::heard::HeardAs;
use super::reconnects::Reconnects;
use crate::live::Connector;
use crate::session::{Capabilities, Gates, PolicySet};
use crate::tool::{
    ConfirmationProvider, ConfirmationRequest, GateChoice, PolicyTool, ToolConfirmation, Toolset,
};

/// The setup time limit of a played connection: a day, longer than any recorded one took.
const SETUP_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

impl Agent {
    /// Creates an agent from a record: its tools, its policies, and its number of reconnect
    /// attempts, if it gave up.
    pub(crate) fn of_record(
        model: &str,
        tools: Toolset,
        policies: &PolicySet,
        reconnects_max: Option<u32>,
    ) -> Agent {
        let mut agent = Agent::new().model(model).tools(tools);
        agent.on_record = Some(policies.clone());
        if let Some(attempts) = reconnects_max.filter(|it| *it > 0) {
            agent = agent.reconnects(Reconnects::default().attempts_max(attempts));
        }
        agent
    }

    /// Connects to the recorded model, replaces each tool by `body`, and leaves answers to the
    /// fixture.
    pub(crate) fn played(
        mut self,
        model: impl Connector,
        capabilities: Option<Capabilities>,
        gates: Gates,
        body: impl FnMut(PolicyTool) -> PolicyTool,
    ) -> Agent {
        self.connector = Some(Arc::new(model));
        self.capabilities = self.capabilities.or(capabilities);
        // An attempt that took too long is recorded as refused.
        self.setup_timeout = Some(SETUP_TIMEOUT);
        self.tools = self.tools.without_providers().map(body);
        // The fixture answers in place of a provider.
        self.provider = Some(Arc::new(Silent));
        if self.gates == GateChoice::WhereAnswerable {
            self.gates_on_record = Some(gates);
        }
        self.recording = None;
        self
    }
}

impl Agent {
    /// Removes the provider, so that an open request keeps no runner attached.
    pub(crate) fn without_provider(mut self) -> Agent {
        self.provider = None;
        self
    }

    /// Sets the reader of frames whose text was not recorded.
    pub(crate) fn hearing(mut self, heard_as: HeardAs) -> Agent {
        self.heard_as = Some(heard_as);
        self
    }
}

/// A provider that never answers, because the answers are in the fixture.
struct Silent;

#[async_trait]
impl ConfirmationProvider for Silent {
    async fn confirm(&self, _question: ConfirmationRequest) -> ToolConfirmation {
        pending().await
    }
}
