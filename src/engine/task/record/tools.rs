//! The change of a session's tools, or of their policies, while it lives, and the rules that its
//! keyed calls need.

use std::sync::Arc;

use crate::engine::agents::changed::Names;
use crate::engine::agents::prepared::Prepared;
use crate::engine::error::Error;
use crate::engine::task::session_task::SessionTask;
use crate::ledger::Objects;
use crate::session::{
    Catalog, CatalogChanged, ObjectHash, PolicyChanges, PolicySet, RULES_OF_KEYS, Rejection,
    RunnerAttached, Seq,
};
use crate::tool::ToolChanges;

/// The lowest rules number of a record that changes a catalog. An older program would go on with
/// the tools of the attachment.
const RULES_OF_CHANGES: u32 = 2;

impl SessionTask {
    /// Changes the tools of this session. Returns the record, or `None` if the terms on record are
    /// the same after the change.
    pub(in crate::engine) async fn change_tools(
        &mut self,
        changes: ToolChanges,
        on_record: Option<PolicySet>,
    ) -> Result<Option<Seq>, Error> {
        if self.stream.session.closed {
            return Err(Error::Refused(Rejection::SessionClosed));
        }
        if self.shared.slots.is_shut() {
            return Err(Error::ShutDown);
        }
        let changed = self
            .agent
            .with_tools(changes, on_record, &self.stream.ledger);
        let changed = changed.map_err(|mistakes| Error::Configuration { mistakes })?;
        self.serve_with_tools_of(Arc::new(changed)).await
    }

    /// Serves the session with an agent that has tools for this session alone. Returns the record,
    /// or `None` if the terms on record are the same.
    pub(in crate::engine) async fn serve_with_tools_of(
        &mut self,
        changed: Arc<Prepared>,
    ) -> Result<Option<Seq>, Error> {
        if self.running.attached.is_none() {
            // There is no catalog to change: the attachment names the new one.
            self.take_agent(changed, true);
            self.attach(Vec::new()).await?;
            return Ok(self.running.attached);
        }
        self.change_agent(changed, true).await
    }

    /// Takes the agent with other policy files, if the session is of this agent. Returns the
    /// record, or `None` if the terms on record are the same.
    pub(in crate::engine) async fn change_policies(
        &mut self,
        agent: &str,
        files: Vec<PolicyChanges>,
    ) -> Result<Option<Seq>, Error> {
        if self.agent.name != agent || self.stream.session.closed {
            return Ok(None);
        }
        if self.shared.slots.is_shut() {
            return Err(Error::ShutDown);
        }
        let has_own_tools = self.shared.changed_agents.of(self.id).is_some();
        let names = match has_own_tools {
            true => Names::Those,
            false => Names::All,
        };
        let changed = self.agent.with_policies(files, names, &self.stream.ledger);
        let changed = changed.map_err(|mistakes| Error::Configuration { mistakes })?;
        let changed = Arc::new(changed);
        if self.running.attached.is_none() {
            // The next attachment names the new policies.
            self.take_agent(changed, has_own_tools);
            return Ok(None);
        }
        self.change_agent(changed, has_own_tools).await
    }

    /// Serves the attached session with this agent from now on. Returns the record, or `None` if
    /// the terms on record are the same.
    async fn change_agent(
        &mut self,
        changed: Arc<Prepared>,
        has_own_tools: bool,
    ) -> Result<Option<Seq>, Error> {
        let catalog = self.current_catalog(&changed).await;
        let policies = changed.policies.clone();
        let terms = &self.stream.session.terms;
        if terms.catalog == catalog && terms.policies == policies {
            self.take_agent(changed, has_own_tools);
            return Ok(None);
        }
        let rules = self.stream.session.rules_needed(&catalog, &policies);
        let (objects, [catalog, policies]) = self.named_terms(catalog, policies)?;
        let change = CatalogChanged {
            catalog,
            policies,
            rules: rules.max(RULES_OF_CHANGES),
        };
        // What starts in the batch runs with the new terms, and nothing is performed before.
        let at = self.put(vec![change.into()], objects).await?;
        self.take_agent(changed, has_own_tools);
        self.perform().await?;
        Ok(Some(at))
    }

    /// `has_own_tools` is true if the tools are those of this session alone.
    fn take_agent(&mut self, agent: Arc<Prepared>, has_own_tools: bool) {
        if has_own_tools {
            self.shared.changed_agents.set(self.id, agent.clone());
        }
        self.agent = agent;
    }

    /// Adds the terms to the session's library. Returns their objects, and the addresses by which a
    /// record names them.
    pub(in crate::engine) fn named_terms(
        &mut self,
        catalog: Arc<Catalog>,
        policies: Arc<PolicySet>,
    ) -> Result<(Objects, [ObjectHash; 2]), Error> {
        let (objects, addresses) = self.stream.seal.terms(self.id, &catalog, &policies)?;
        let [catalog_at, policies_at] = addresses;
        let library = self.stream.session.library_mut();
        library.add_catalog(catalog_at, catalog);
        library.add_policies(policies_at, policies);
        Ok((objects, addresses))
    }

    /// Returns a renewed attachment under rules that know idempotency keys, unless they are in
    /// force.
    ///
    /// A program of older rules overlooks keys, so it must not serve the session any more.
    pub(in crate::engine) fn rules_for_keys(
        &mut self,
    ) -> Result<Option<(RunnerAttached, Objects)>, Error> {
        let session = &self.stream.session;
        if session.rules >= RULES_OF_KEYS {
            return Ok(None);
        }
        let (catalog, policies) = (
            session.terms.catalog.clone(),
            session.terms.policies.clone(),
        );
        let (objects, addresses) = self.named_terms(catalog, policies)?;
        let renewed = RunnerAttached {
            goes_on: true,
            ..self.attachment(addresses, RULES_OF_KEYS)
        };
        Ok(Some((renewed, objects)))
    }
}
