//! Agents of sessions whose connection a gateway relays.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::agent::Agent;
use super::changed::Names;
use super::prepared::Prepared;
use super::reconnects::Reconnects;
use crate::ledger::Ledger;
use crate::live::{Capabilities, Platform};
use crate::session::{PolicySet, ToolPolicyChanges};
use crate::tool::{PolicyTool, ToolChanges, Toolset};

impl Agent {
    /// Lets policy files name tools that only clients of a gateway declare. Without it, a policy
    /// for a tool that is not there is a mistake.
    ///
    /// ```
    /// use recount::prelude::*;
    /// use recount::tool::policy_file;
    ///
    /// let text = r#"{"tools": {"refund": {"confirm": "Refund this order?"}}}"#;
    /// let agent = Agent::new().policies(policy_file::parse(text)?).tools_from_clients();
    /// # let _ = agent;
    /// # Ok::<(), policy_file::PolicyFileError>(())
    /// ```
    pub fn tools_from_clients(mut self) -> Agent {
        self.tools_from_clients = true;
        self
    }

    /// Drops the policies of tools that only clients declare.
    pub(super) fn keep_policies_of_own_tools(&mut self) {
        if !self.tools_from_clients {
            return;
        }
        let names = self.tools.tools().iter().map(PolicyTool::name);
        let names: Vec<String> = names.map(str::to_owned).collect();
        for file in &mut self.policies {
            file.tools.retain(|name, _| names.contains(name));
        }
    }
}

/// The agents that serve relayed connections now.
///
/// The clients of one program declare the same tools. Their sessions share an agent, because a
/// prepared one takes more memory than all else that an idle session has.
#[derive(Default)]
pub(in crate::engine) struct RelayedAgents(Mutex<BTreeMap<Terms, Shared>>);

/// The parts from which the agent of a connection is made: the address of the agent before, model
/// and platform, and the tools as text.
type Terms = (usize, Option<(String, String)>, Vec<String>);

/// An agent that was made, and the one before. The latter keeps its address from being used again.
struct Shared {
    before: Weak<Prepared>,
    made: Weak<Prepared>,
}

impl RelayedAgents {
    /// Returns the agent for a connection of a client; see [`Prepared::relayed`].
    pub(in crate::engine) fn of(
        &self,
        agent: &Arc<Prepared>,
        model: Option<(&str, Platform)>,
        tools: Toolset,
        ledger: &Ledger,
    ) -> Result<Arc<Prepared>, Vec<String>> {
        let texts = tools.tools().iter().map(PolicyTool::text_of_declaration);
        let Some(texts) = texts.collect::<Option<Vec<String>>>() else {
            return agent.relayed(model, tools, ledger).map(Arc::new);
        };
        let named = model.map(|(name, platform)| (name.to_owned(), format!("{platform:?}")));
        let terms = (Arc::as_ptr(agent).addr(), named, texts);
        // Locked until the agent is made: clients that come back together need it once.
        let mut agents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = agents.get(&terms).and_then(|it| it.made.upgrade()) {
            return Ok(made);
        }
        let made = Arc::new(agent.relayed(model, tools, ledger)?);
        agents.retain(|_, it| it.made.strong_count() > 0 && it.before.strong_count() > 0);
        let shared = Shared {
            before: Arc::downgrade(agent),
            made: Arc::downgrade(&made),
        };
        agents.insert(terms, shared);
        Ok(made)
    }
}

impl Prepared {
    /// Returns the agent for a connection of a client, with the tools of that client in place of
    /// those of its earlier connection.
    ///
    /// Without a model, that of its connection stays. Such an agent opens no connection of its own
    /// and gives the model no instruction.
    pub(in crate::engine) fn relayed(
        &self,
        model: Option<(&str, Platform)>,
        tools: Toolset,
        ledger: &Ledger,
    ) -> Result<Prepared, Vec<String>> {
        self.relayed_on_record(model, tools, None, ledger)
    }

    /// Returns the agent for a connection of a client, under the policies of a fixture that is
    /// played. The agent of a fixture may have the client's tools already.
    pub(in crate::engine) fn relayed_on_record(
        &self,
        model: Option<(&str, Platform)>,
        tools: Toolset,
        on_record: Option<PolicySet>,
        ledger: &Ledger,
    ) -> Result<Prepared, Vec<String>> {
        let mut source = (*self.source).clone();
        let mut changes = ToolChanges::new();
        for gone in &self.of_client {
            changes = changes.without_if_present(gone);
        }
        let names = tools.tools().iter().map(PolicyTool::name);
        let names: BTreeSet<String> = names.map(str::to_owned).collect();
        if on_record.is_some() {
            for there in names.difference(&self.of_client) {
                changes = changes.without_if_present(there);
            }
        }
        source.on_record = on_record.or(source.on_record);
        let own = std::mem::take(&mut source.tools);
        let applied = changes.with(tools).applied_to(own);
        source.tools = applied.map_err(|error| {
            let mistakes = error.mistakes.iter().map(ToString::to_string);
            let named = mistakes.map(|it| format!("agent {:?}: {it}", self.name));
            named.collect::<Vec<_>>()
        })?;
        if let Some((model, platform)) = model {
            model.clone_into(&mut source.model);
            // A function that blocks the model takes one response. What follows an acknowledgement
            // is said as conversation.
            let mut capabilities = Capabilities::of(platform, model);
            capabilities.will_continue = false;
            source.capabilities = Some(capabilities);
        }
        (source.connector, source.instruction) = (None, None);
        source.reconnects = Reconnects::never();
        let mut changed = self.with_source(Box::new(source), Names::Those, ledger)?;
        changed.of_client = names;
        Ok(changed)
    }

    /// True if a client of a gateway may bring the tool, and has not yet.
    pub(in crate::engine) fn awaits_from_client(&self, tool: &str) -> bool {
        self.source.tools_from_clients && !self.catalog.tools.contains_key(tool)
    }

    /// Returns the tools that the policy files name. `None`: their defaults are for every tool.
    pub(in crate::engine) fn named_in_policies(&self) -> Option<BTreeSet<String>> {
        let files = || self.source.policies.iter();
        let is_for_all = files().any(|it| it.defaults != ToolPolicyChanges::default());
        let names = files().flat_map(|file| file.tools.keys().cloned());
        (!is_for_all).then(|| names.collect())
    }

    /// Returns those of a client's tools that the agent can serve, and the mistakes of the others.
    ///
    /// A policy may not fit a function of the client, such as a retry of a function that is not
    /// idempotent. Only calls of that function are refused then.
    pub(in crate::engine) fn fitting(
        &self,
        tools: Toolset,
        ledger: &Ledger,
    ) -> (Toolset, Vec<String>) {
        let mut mistakes = Vec::new();
        let mut fitting = Toolset::default();
        for tool in tools.tools() {
            match self.relayed(None, tool.clone().into(), ledger) {
                Ok(_) => fitting = fitting | tool.clone(),
                Err(found) => mistakes.extend(found),
            }
        }
        (fitting, mistakes)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;
    use crate::journal::MemoryJournal;
    use crate::tool::T;
    use serde_json::json;

    struct Served {
        agents: RelayedAgents,
        ledger: Ledger,
    }

    impl Served {
        fn new() -> (Served, Arc<Prepared>) {
            let ledger = Ledger::new(Arc::new(MemoryJournal::default()));
            let agent = Agent::new().strict().tools_from_clients();
            let agent = agent.prepare("desk", &ledger).unwrap();
            let agents = RelayedAgents::default();
            (Served { agents, ledger }, Arc::new(agent))
        }

        fn of(&self, agent: &Arc<Prepared>, tools: Toolset) -> Arc<Prepared> {
            let model = Some(("gemini-3.8-live", Platform::GoogleAi));
            self.agents.of(agent, model, tools, &self.ledger).unwrap()
        }
    }

    fn look(says: &str) -> Toolset {
        T::client("look", says, json!({"type": "object"}))
    }

    #[test]
    fn clients_with_the_same_tools_share_an_agent() {
        let (served, agent) = Served::new();
        let first = served.of(&agent, look("Looks"));
        assert!(Arc::ptr_eq(&first, &served.of(&agent, look("Looks"))));
        // Also after both have connected again.
        let again = served.of(&first, look("Looks"));
        assert!(Arc::ptr_eq(&again, &served.of(&first, look("Looks"))));
    }

    #[test]
    fn other_tools_models_and_agents_are_not_shared() {
        let (served, agent) = Served::new();
        let first = served.of(&agent, look("Looks"));
        let waits = T::behavior(
            look("Looks"),
            crate::session::catalog::Behavior::NonBlocking,
        );
        for other in [look("Looks up"), waits, Toolset::default()] {
            assert!(!Arc::ptr_eq(&first, &served.of(&agent, other)));
        }
        let vertex = Some(("gemini-3.8-live", Platform::Vertex));
        let other = served
            .agents
            .of(&agent, vertex, look("Looks"), &served.ledger);
        assert!(!Arc::ptr_eq(&first, &other.unwrap()));
        let (_, changed) = Served::new();
        assert!(!Arc::ptr_eq(&first, &served.of(&changed, look("Looks"))));
    }

    /// Its text does not show the policy, or the closure that decides.
    #[test]
    fn tools_with_policies_are_not_shared() {
        let (served, agent) = Served::new();
        let limited = || T::limit_per_session(look("Looks"), 1);
        let first = served.of(&agent, limited());
        assert!(!Arc::ptr_eq(&first, &served.of(&agent, limited())));
    }

    #[test]
    fn agent_without_sessions_is_freed() {
        let (served, agent) = Served::new();
        let first = Arc::downgrade(&served.of(&agent, look("Looks")));
        assert!(first.upgrade().is_none());
        drop(served.of(&agent, look("Looks up")));
        assert_eq!(served.agents.0.lock().unwrap().len(), 1);
    }
}
