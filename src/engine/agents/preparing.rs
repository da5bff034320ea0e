//! The check of a whole agent and its preparation for serving.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::agent::Agent;
use super::prepared::Prepared;
use super::{agents_named, limits_of_asking, phases, policies, waived_gates};
use crate::ledger::Ledger;
use crate::live::{Capabilities, outgoing};
use crate::session::catalog::Catalog;
use crate::session::{Gates, OnSettled, PolicySet};
use crate::tool::{ConfirmationProvider, GateChoice, ToolDispatcher};

/// The default time of silence before an idle connection ends.
const IDLE_FOLD_AFTER: Duration = Duration::from_secs(60);

/// The default maximum time for the setup of a connection.
const SETUP_TIMEOUT: Duration = Duration::from_secs(15);

impl Agent {
    /// Checks the whole agent and prepares it for serving.
    pub(crate) fn prepare(mut self, name: &str, ledger: &Ledger) -> Result<Prepared, Vec<String>> {
        let source = Box::new(self.clone());
        let mut mistakes = self.recording_mistakes();
        let mut dispatcher = ToolDispatcher::new();
        let (formatters, unknown) = self.tools.execute(std::mem::take(&mut self.modes));
        let known = self.tools.in_words();
        mistakes.extend(unknown.into_iter().map(|tool| {
            format!(
                "no tool is named {tool:?}, so nothing can be said of how it is executed; {known}"
            )
        }));
        self.keep_policies_of_own_tools();
        let tools = policies::of_tools(std::mem::take(&mut self.tools), &self.policies);
        let tools = tools.map(|tools| self.with_expiring_gates(tools));
        let registered = tools.and_then(|tools| dispatcher.register(tools));
        let unregistered = registered.as_ref().err();
        mistakes.extend(
            unregistered
                .into_iter()
                .flat_map(|it| &it.mistakes)
                .map(ToString::to_string),
        );
        let mut mistakes: Vec<String> = mistakes
            .iter()
            .map(|it| format!("agent {name:?}: {it}"))
            .collect();
        mistakes.extend(self.mistakes_of_connection(name));
        mistakes.extend(self.missing_keys(name, &dispatcher, ledger));
        let policies = self.policies_of(&dispatcher);
        let platform = self.connector.as_ref().map(|it| it.platform());
        let platform = platform.unwrap_or_default();
        let capabilities = self
            .capabilities
            .unwrap_or_else(|| Capabilities::of(platform, &self.model));
        let catalog = dispatcher.catalog();
        let non_blocking = outgoing::non_blocking(&catalog, capabilities);
        mistakes.extend(self.untaken(name, capabilities, &catalog));
        // Without the tools every name would be unknown.
        if registered.is_ok() {
            let of_agents = agents_named::mistakes(&catalog).into_iter();
            let of_phases = phases::mistakes(&policies, &dispatcher);
            let all = of_agents
                .chain(of_phases)
                .chain(limits_of_asking::mistakes(&policies))
                .chain(policies::mistakes(&policies));
            mistakes.extend(all.map(|it| format!("agent {name:?}: {it}")));
        }
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        let own = dispatcher.confirmation_provider();
        let provider = self.provider.take().or_else(|| own.cloned());
        let gates = self.gates_held(name, ledger, provider.as_ref(), &dispatcher, &policies);
        let prepared = Prepared {
            recorder: None,
            name: name.to_owned(),
            capabilities,
            non_blocking: non_blocking.into(),
            withholds_input: self.withholds_input,
            model: self.model,
            instruction: self.instruction,
            names_implementations: catalog.tools.values().any(|it| it.implementation.is_some()),
            catalog: Arc::new(catalog),
            policies: Arc::new(policies.as_stored()),
            dispatcher,
            connector: self.connector,
            provider,
            gates,
            sealed: self.sealed,
            reconnects: self.reconnects,
            idle_fold_after: self.idle_fold_after.unwrap_or(IDLE_FOLD_AFTER),
            setup_timeout: self.setup_timeout.unwrap_or(SETUP_TIMEOUT),
            extractors: self.extractors,
            services: self.services,
            hooks: self.hooks,
            manner: self.manner,
            formatters,
            of_client: BTreeSet::new(),
            is_changed: false,
            heard_as: self.heard_as,
            source,
        };
        Ok(prepared.recorded(self.recording))
    }

    /// Returns the mistake that a connection needs a model.
    pub(in crate::engine) fn missing_model(&self, name: &str) -> Option<String> {
        let missing = self.model.trim().is_empty();
        missing.then(|| format!("agent {name:?} has no model: call .model(\"…\")"))
    }

    /// Returns the mistakes in the model, the manner of the conversation, and the connector.
    fn mistakes_of_connection(&self, name: &str) -> Vec<String> {
        let mut mistakes = Vec::new();
        // An agent without a connector serves sessions that a program drives.
        if self.connector.is_some() {
            mistakes.extend(self.missing_model(name));
        }
        if self.connector.is_none() && self.on_settled == OnSettled::Connect {
            mistakes.push(format!(
                "agent {name:?} wants a connection for what ends while there is none, \
                 and has nowhere to connect to: call .connect_to(…)"
            ));
        }
        if let Some(mistake) = self.manner.mistake() {
            mistakes.push(format!("agent {name:?}: {mistake}"));
        }
        if let Some(connector) = &self.connector {
            let endpoint = connector.endpoint();
            let wrong = connector.mistakes().into_iter();
            mistakes.extend(
                wrong.map(|it| format!("agent {name:?} cannot connect to {endpoint}: {it}")),
            );
        }
        mistakes
    }

    /// Returns the parts that need a key, if the journal has no key store.
    fn missing_keys(
        &self,
        name: &str,
        dispatcher: &ToolDispatcher,
        ledger: &Ledger,
    ) -> Vec<String> {
        if ledger.keys().is_some() {
            return Vec::new();
        }
        let missing = "there is no key store: call .keys(…) on the engine";
        let sealed = self
            .sealed
            .then(|| format!("agent {name:?} is sealed and {missing}"));
        let tools = dispatcher.names_with_secrets().map(|tool| {
            format!("agent {name:?}: tool {tool:?} has secret arguments and {missing}")
        });
        sealed.into_iter().chain(tools).collect()
    }

    fn policies_of(&mut self, dispatcher: &ToolDispatcher) -> PolicySet {
        if let Some(on_record) = self.on_record.take() {
            return on_record;
        }
        let policies = PolicySet {
            response: self.response,
            acknowledges: true,
            acknowledge_after: self.acknowledge_after,
            on_settled: self.on_settled,
            phases: std::mem::take(&mut self.phases),
            hooks: self.hooks.declared(),
            ..self.call_limits.of(dispatcher.policies())
        };
        policies::of_agent(policies, &self.policies)
    }

    /// Returns the service's own tools that the model does not support.
    fn untaken(&self, name: &str, capabilities: Capabilities, catalog: &Catalog) -> Vec<String> {
        let mut mistakes = Vec::new();
        for tool in catalog.tools.values() {
            let declared = tool.server_side.as_ref().and_then(|it| it.as_object());
            for wire in declared.into_iter().flat_map(|it| it.keys()) {
                if !capabilities.takes(wire) {
                    let (tool, model) = (&tool.name, &self.model);
                    mistakes.push(format!(
                        "agent {name:?}: the model {model:?} has no {tool:?}; \
                         if it has by now, say so with .capabilities(…)"
                    ));
                }
            }
        }
        mistakes
    }

    /// Returns the gates of its sessions. They are enforced if an approver can answer.
    fn gates_held(
        &self,
        name: &str,
        ledger: &Ledger,
        provider: Option<&Arc<dyn ConfirmationProvider>>,
        dispatcher: &ToolDispatcher,
        policies: &PolicySet,
    ) -> Gates {
        if let Some(gates) = &self.gates_on_record {
            return gates.clone();
        }
        match self.gates {
            GateChoice::Strict => Gates::enforced(),
            GateChoice::Unenforced => {
                Gates::waived("the embedding program chose unenforced confirmations")
            }
            GateChoice::WhereAnswerable
                if ledger.journal().is_durable()
                    || provider.is_some()
                    || dispatcher.is_strict() =>
            {
                Gates::enforced()
            }
            GateChoice::WhereAnswerable => waived_gates::unanswerable(name, policies),
        }
    }
}
