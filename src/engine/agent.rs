//! An agent: a named bundle of code that sessions are served by.
//!
//! Code is not in the journal, so a session names its agent, and whoever opens the journal registers it again.

use std::sync::Arc;

use crate::engine::confirmation::ConfirmationProvider;
use crate::ledger::Ledger;
use crate::live::{Connector, SchemaForm};
use crate::session::{Catalog, Gates, PolicySet};
use crate::tool::{ToolDispatcher, Toolset};

/// Tools, policies, instruction and connection under one name.
///
/// ```
/// use recount::prelude::*;
/// let agent = Agent::new()
///     .model("gemini-live-2.5-flash")
///     .instruction("You are the support desk.")
///     .tools(T::simple("ping", "Answers pong", |_| async { Ok(json!("pong")) }));
/// # let _ = agent;
/// ```
#[derive(Clone, Default)]
pub struct Agent {
    model: String,
    instruction: Option<String>,
    tools: Toolset,
    connector: Option<Arc<dyn Connector>>,
    provider: Option<Arc<dyn ConfirmationProvider>>,
    gates: GateChoice,
    running_max: Option<u32>,
    sealed: bool,
    schema_form: SchemaForm,
}

/// Who decides whether gates hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum GateChoice {
    /// They hold where somebody can answer: a durable journal, or a provider.
    #[default]
    WhereAnswerable,
    /// They always hold.
    Strict,
    /// They never hold.
    Unenforced,
}

impl Agent {
    /// An agent without anything.
    pub fn new() -> Agent {
        Agent::default()
    }

    /// The model, such as `gemini-live-2.5-flash`.
    pub fn model(mut self, model: impl Into<String>) -> Agent {
        self.model = model.into();
        self
    }

    /// What the model is told to be.
    pub fn instruction(mut self, instruction: impl Into<String>) -> Agent {
        self.instruction = Some(instruction.into());
        self
    }

    /// Adds tools, joined by `|`.
    pub fn tools(mut self, tools: impl Into<Toolset>) -> Agent {
        self.tools = self.tools | tools.into();
        self
    }

    /// Where its sessions connect to.
    pub fn connect_to(mut self, connector: impl Connector) -> Agent {
        self.connector = Some(Arc::new(connector));
        self
    }

    /// As [`connect_to`](Agent::connect_to), for a connector that is shared.
    pub fn connect_to_shared(mut self, connector: Arc<dyn Connector>) -> Agent {
        self.connector = Some(connector);
        self
    }

    /// Who answers confirmation requests in this process.
    pub fn confirmation_provider(mut self, provider: Arc<dyn ConfirmationProvider>) -> Agent {
        self.provider = Some(provider);
        self
    }

    /// Gated calls wait for a person even where nothing durable remembers them.
    pub fn strict(mut self) -> Agent {
        self.gates = GateChoice::Strict;
        self
    }

    /// Gated calls run without asking; the journal says so for each.
    pub fn unenforced_confirmations(mut self) -> Agent {
        self.gates = GateChoice::Unenforced;
        self
    }

    /// How many calls of a session run at the same time; without it, any number.
    pub fn running_max(mut self, calls: u32) -> Agent {
        self.running_max = Some(calls);
        self
    }

    /// Seals the bodies of its sessions' records, and their objects, each session under a key of its own; the engine needs
    /// a [key store](super::EngineBuilder::keys). A session that has begun stays as it began.
    pub fn sealed(mut self) -> Agent {
        self.sealed = true;
        self
    }

    /// In which form its tools' schemas are declared to the model; as JSON Schema if it is not said.
    pub fn schema_form(mut self, form: SchemaForm) -> Agent {
        self.schema_form = form;
        self
    }

    /// Checks everything at once and makes it ready to serve.
    pub(crate) fn prepare(self, name: &str, ledger: &Ledger) -> Result<Prepared, Vec<String>> {
        let mut mistakes = Vec::new();
        let mut dispatcher = ToolDispatcher::new();
        if let Err(error) = dispatcher.register(self.tools) {
            mistakes.push(format!("agent {name:?}: {error}"));
        }
        if self.model.trim().is_empty() {
            mistakes.push(format!("agent {name:?} has no model: call .model(\"…\")"));
        }
        if ledger.keys().is_none() {
            let missing = "there is no key store: call .keys(…) on the engine";
            if self.sealed {
                mistakes.push(format!("agent {name:?} is sealed and {missing}"));
            }
            for tool in dispatcher.names_with_secrets() {
                mistakes.push(format!(
                    "agent {name:?}: tool {tool:?} has secret arguments and {missing}"
                ));
            }
        }
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        let journal_is_durable = ledger.journal().is_durable();
        let gates = match self.gates {
            GateChoice::Strict => Gates::enforced(),
            GateChoice::Unenforced => {
                Gates::waived("the embedding program chose unenforced confirmations")
            }
            GateChoice::WhereAnswerable if journal_is_durable || self.provider.is_some() => {
                Gates::enforced()
            }
            GateChoice::WhereAnswerable => {
                Gates::waived("no durable journal and no confirmation provider")
            }
        };
        let policies = PolicySet {
            running_max: self.running_max,
            ..dispatcher.policies()
        };
        Ok(Prepared {
            name: name.to_owned(),
            model: self.model,
            instruction: self.instruction,
            catalog: Arc::new(dispatcher.catalog()),
            policies: Arc::new(policies),
            dispatcher,
            connector: self.connector,
            provider: self.provider,
            gates,
            sealed: self.sealed,
            schema_form: self.schema_form,
        })
    }
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent")
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

/// An agent that was checked.
pub(crate) struct Prepared {
    pub(crate) name: String,
    pub(crate) model: String,
    pub(crate) instruction: Option<String>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) policies: Arc<PolicySet>,
    pub(crate) dispatcher: ToolDispatcher,
    pub(crate) connector: Option<Arc<dyn Connector>>,
    pub(crate) provider: Option<Arc<dyn ConfirmationProvider>>,
    pub(crate) gates: Gates,
    pub(crate) sealed: bool,
    pub(crate) schema_form: SchemaForm,
}
