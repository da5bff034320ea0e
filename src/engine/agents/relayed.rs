//! Agents of sessions whose connection a gateway relays.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

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
///
/// An agent with a thousand tools takes a third of a second. Only clients with the same terms wait
/// for it: those that come back together need it once.
#[derive(Default)]
pub(in crate::engine) struct RelayedAgents(Mutex<BTreeMap<Terms, Arc<Shared>>>);

/// The parts from which the agent of a connection is made: the address of the agent before, model
/// and platform, and the tools as text.
type Terms = (usize, Option<(String, String)>, Vec<String>);

/// An agent that was made, and the one before. The latter keeps its address from being used again.
struct Shared {
    before: Weak<Prepared>,
    made: Mutex<Weak<Prepared>>,
}

impl Shared {
    /// Returns the agent, locked while it is made. A panic leaves one that is whole, or none.
    fn made(&self) -> MutexGuard<'_, Weak<Prepared>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
        let shared = self.shared(terms, agent);
        let mut known = shared.made();
        if let Some(made) = known.upgrade() {
            return Ok(made);
        }
        let made = Arc::new(agent.relayed(model, tools, ledger)?);
        *known = Arc::downgrade(&made);
        Ok(made)
    }

    /// Returns the agent for a connection of a client, without the tools that the agent cannot
    /// serve, and their mistakes.
    ///
    /// A policy may not fit a function of the client, such as a retry of a function that is not
    /// idempotent. Only calls of that function are refused then.
    ///
    /// # Errors
    /// Mistakes that are not of one tool.
    pub(in crate::engine) fn fitting(
        &self,
        agent: &Arc<Prepared>,
        model: Option<(&str, Platform)>,
        tools: Toolset,
        ledger: &Ledger,
    ) -> Result<(Arc<Prepared>, Vec<String>), Vec<String>> {
        if let Ok(made) = self.of(agent, model, tools.clone(), ledger) {
            return Ok((made, Vec::new()));
        }
        let (fitting, mistakes) = agent.fitting(tools, ledger);
        let made = self.of(agent, model, fitting, ledger)?;
        Ok((made, mistakes))
    }

    /// Returns the place of the agent that is made on these terms.
    fn shared(&self, terms: Terms, before: &Arc<Prepared>) -> Arc<Shared> {
        let mut agents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shared) = agents.get(&terms) {
            return Arc::clone(shared);
        }
        // No other thread has one that is here alone, so its lock is free.
        agents.retain(|_, it| {
            let is_alone = Arc::strong_count(it) == 1;
            !is_alone || (it.before.strong_count() > 0 && it.made().strong_count() > 0)
        });
        let shared = Arc::new(Shared {
            before: Arc::downgrade(before),
            made: Mutex::default(),
        });
        agents.insert(terms, Arc::clone(&shared));
        shared
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
    fn fitting(&self, tools: Toolset, ledger: &Ledger) -> (Toolset, Vec<String>) {
        let (mut fitting, mut mistakes) = (Toolset::default(), Vec::new());
        let mut parts = vec![tools.tools().to_vec()];
        // Halves, so that a few mistakes among many tools are found with few agents.
        while let Some(mut part) = parts.pop() {
            let all = part.iter().cloned();
            let all = all.fold(Toolset::default(), |all, tool| all | tool);
            match self.relayed(None, all.clone(), ledger) {
                Ok(_) => fitting = fitting | all,
                Err(found) if part.len() < 2 => mistakes.extend(found),
                Err(_) => {
                    parts.push(part.split_off(part.len() / 2));
                    parts.push(part);
                }
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

    #[test]
    fn tools_with_the_same_policy_are_shared_unless_code_decides() {
        let (served, agent) = Served::new();
        let limited = |calls| T::limit_per_session(look("Looks"), calls);
        let first = served.of(&agent, limited(1));
        assert!(Arc::ptr_eq(&first, &served.of(&agent, limited(1))));
        assert!(!Arc::ptr_eq(&first, &served.of(&agent, limited(2))));
        let decided = || T::confirm_when_fn(look("Looks"), "Look?", |_, _| async { false });
        let first = served.of(&agent, decided());
        assert!(!Arc::ptr_eq(&first, &served.of(&agent, decided())));
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
