//! An agent as a fixture plays it: with the recorded model, and nobody in the process who answers
//! for a person.

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

/// The time limit of a connection that comes in its turn: a day, which no recorded one took.
const SETUP_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

impl Agent {
    /// An agent that has nothing but what is on record of one: its tools, its policies, and the
    /// number of tries to reconnect after which it gave up, if it did.
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

    /// Connects to the recorded model, has `body` stand in for each tool, and leaves answers to the
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
        // A try that took too long is on record as refused.
        self.setup_timeout = Some(SETUP_TIMEOUT);
        self.tools = self.tools.without_providers().map(body);
        // Where somebody could answer, the fixture does.
        self.provider = Some(Arc::new(Silent));
        if self.gates == GateChoice::WhereAnswerable {
            self.gates_on_record = Some(gates);
        }
        self.recording = None;
        self
    }
}

impl Agent {
    /// The agent of a process without a provider: an open question keeps no runner there.
    pub(crate) fn without_provider(mut self) -> Agent {
        self.provider = None;
        self
    }

    /// Takes some frames for what they came to on record.
    pub(crate) fn hearing(mut self, heard_as: HeardAs) -> Agent {
        self.heard_as = Some(heard_as);
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
