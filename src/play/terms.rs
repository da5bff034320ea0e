//! Fixtures with other tools and policies than the recorded ones, without code of a program.

use std::sync::Arc;

use recount_journal::MemoryJournal;
use recount_journal::seal::MemoryKeyStore;

use super::error::Error;
use super::tools::{self, Prompter};
use crate::engine::{self, Agent};
use crate::fixture::{Fixture, Step, ToolsChanged};
use crate::ledger::Ledger;
use crate::session::catalog::{Catalog, ToolDeclaration};
use crate::session::{PolicyChanges, PolicySet};
use crate::tool::{ToolPolicy, Toolset};

impl Fixture {
    /// The fixture with the tools and policies of an agent in place of the recorded ones.
    ///
    /// [`play_by_itself`](Fixture::play_by_itself) then shows which decisions the agent changes.
    /// Nothing of the agent runs: its tools return their recorded results. Its model, instruction,
    /// hooks and endpoint take no part. If the session changed its tools, tools that the recorded
    /// change added or removed are added and removed as before; all others are those of the agent.
    ///
    /// ```
    /// use recount::fixture::Fixture;
    /// use recount::prelude::*;
    ///
    /// let refund = T::simple("refund", "Refunds an order", |_| async { Ok(json!({})) });
    /// let without_gate = Agent::new().tools(refund);
    /// let fixture = Fixture::load("fixtures/conversations/refund")?;
    /// let session = fixture.served_by(&without_gate)?.play_by_itself()?;
    /// assert!(session.report().contains("call=6 verdict=allowed"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Engine`] with the mistakes of the agent.
    pub fn served_by(&self, agent: &Agent) -> Result<Fixture, Error> {
        let ledger = Ledger::new(Arc::new(MemoryJournal::default()))
            .with_keys(Arc::new(MemoryKeyStore::default()));
        let header = self.header();
        let agent = agent.clone().of_terms(header.capabilities);
        let prepared = agent.prepare(&header.agent, &ledger);
        let prepared = prepared.map_err(|mistakes| engine::Error::Configuration { mistakes })?;
        let (catalog, policies) = (&*prepared.catalog, &*prepared.policies);
        let mut fixture = self.clone();
        let mut recorded = header.catalog.clone();
        (fixture.header.catalog, fixture.header.policies) = (catalog.clone(), policies.clone());
        for timed in &mut fixture.steps {
            if let Step::ProcessBegan(began) = &mut timed.step
                && let Some(terms) = &mut began.terms
            {
                recorded = std::mem::replace(&mut terms.catalog, catalog.clone());
                terms.policies = policies.clone();
            } else if let Step::ToolsChanged(changed) = &mut timed.step {
                change(changed, &recorded, (catalog, policies));
            }
        }
        Ok(fixture)
    }

    /// The fixture with changes of policies over the recorded policies, those of every process.
    /// Changes of tools that the fixture does not have are ignored.
    ///
    /// ```
    /// use recount::fixture::Fixture;
    /// use recount::tool::policy_file;
    ///
    /// let changes = policy_file::parse(r#"{"tools": {"refund": {"confirm": false}}}"#)?;
    /// let fixture = Fixture::load("fixtures/conversations/refund")?;
    /// let session = fixture.under(&changes).play_by_itself()?;
    /// assert!(!session.is_as_recorded());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn under(&self, changes: &PolicyChanges) -> Fixture {
        let mut fixture = self.clone();
        let changed = |catalog: &Catalog, policies: &mut PolicySet| {
            let before = std::mem::take(policies);
            let tools = catalog.tools.keys().map(String::as_str);
            *policies = changes.applied_to(before, tools).as_stored();
        };
        changed(&fixture.header.catalog, &mut fixture.header.policies);
        for timed in &mut fixture.steps {
            if let Step::ProcessBegan(began) = &mut timed.step
                && let Some(terms) = &mut began.terms
            {
                changed(&terms.catalog, &mut terms.policies);
            } else if let Step::ToolsChanged(it) = &mut timed.step {
                changed(&it.catalog, &mut it.policies);
            }
        }
        fixture
    }

    /// The recorded tools of MCP servers, without policies, for an agent whose servers are not
    /// started. Outside of a play, their calls fail.
    ///
    /// ```
    /// use recount::fixture::Fixture;
    ///
    /// let fixture = Fixture::load("fixtures/conversations/refund")?;
    /// assert!(fixture.tools_of_servers().tools().is_empty());
    /// # Ok::<(), recount::fixture::Error>(())
    /// ```
    pub fn tools_of_servers(&self) -> Toolset {
        let mut found = Catalog::default();
        let is_of_server = |it: &&ToolDeclaration| it.definition.is_some();
        for catalog in self.catalogs() {
            for tool in catalog.tools.values().filter(is_of_server) {
                found.tools.insert(tool.name.clone(), tool.clone());
            }
        }
        let policies = found.tools.keys();
        let policies = policies.map(|name| (name.clone(), ToolPolicy::default()));
        let policies = PolicySet {
            tools: policies.collect(),
            ..PolicySet::default()
        };
        tools::on_record(&found, &policies, &Prompter::default())
    }
}

/// Repeats a recorded change of tools over other tools. `recorded` are the tools before it.
fn change(
    changed: &mut ToolsChanged,
    recorded: &Catalog,
    (catalog, policies): (&Catalog, &PolicySet),
) {
    let (before, after) = (&recorded.tools, &changed.catalog.tools);
    let is_added = |name: &String| !before.contains_key(name);
    let is_removed = |name: &String| before.contains_key(name) && !after.contains_key(name);
    let (mut tools, mut set) = (catalog.clone(), policies.clone());
    tools.tools.retain(|name, _| !is_removed(name));
    set.tools.retain(|name, _| !is_removed(name));
    for (name, tool) in after.iter().filter(|(name, _)| is_added(name)) {
        tools.tools.insert(name.clone(), tool.clone());
        match changed.policies.tools.get(name) {
            Some(policy) => set.tools.insert(name.clone(), policy.clone()),
            None => set.tools.remove(name),
        };
    }
    (changed.catalog, changed.policies) = (tools, set);
}
