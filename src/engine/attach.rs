//! Attaching: from here on this process runs the session's tools.

use super::error::Error;
use super::task::SessionTask;
use crate::session::{Call, ObjectHash, Observation, RULES, RunnerAttached, WaitsFor};

impl SessionTask {
    /// What this process brings to the session.
    fn attachment(&self, [catalog, policies]: [ObjectHash; 2]) -> RunnerAttached {
        RunnerAttached {
            agent: self.agent.name.clone(),
            catalog,
            policies,
            rules: RULES,
            program: super::PROGRAM.to_owned(),
            gates: self.agent.gates.clone(),
        }
    }

    /// Attaches, after whatever `first` says.
    pub(super) async fn attach(&mut self, first: Vec<Observation>) -> Result<(), Error> {
        let mut observations = first;
        let (catalog, policies) = (self.agent.catalog.clone(), self.agent.policies.clone());
        let (objects, addresses) = self.seal.terms(self.id, &catalog, &policies)?;
        let [catalog_at, policies_at] = addresses;
        let library = self.session.library_mut();
        library.add_catalog(catalog_at, catalog);
        library.add_policies(policies_at, policies);
        observations.push(self.attachment(addresses).into());
        self.put(observations, objects).await?;
        self.attached = self.session.runner.map(|runner| runner.seq);
        self.perform().await
    }

    /// Attaches where a call waits for somebody who can run it. A session that merely waits gets no event.
    pub(super) async fn attach_if_needed(&mut self) -> Result<(), Error> {
        // A call that still runs was begun by a process that is gone: whoever takes its place finds out what to do.
        let waits = |it: &Call| {
            matches!(
                it.phase.waits_for(),
                WaitsFor::Runner | WaitsFor::Tool | WaitsFor::Hook
            ) || it.in_place.is_some()
        };
        // An engine that shuts down runs nothing any more; the next one attaches.
        let may = self.attached.is_none() && !self.slots.is_shut();
        let needed = may && self.session.calls.values().any(waits);
        if needed {
            self.attach(Vec::new()).await?;
        }
        Ok(())
    }
}
