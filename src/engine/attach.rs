//! Attaching: from here on this process runs the session's tools.

use super::error::Error;
use super::task::SessionTask;
use crate::ledger::Objects;
use crate::session::{Call, Observation, RULES, RunnerAttached, WaitsFor};

impl SessionTask {
    /// What this process brings to the session.
    fn attachment(&self) -> RunnerAttached {
        RunnerAttached {
            agent: self.agent.name.clone(),
            catalog: self.agent.catalog.hash(),
            policies: self.agent.policies.hash(),
            rules: RULES,
            program: super::PROGRAM.to_owned(),
            gates: self.agent.gates.clone(),
        }
    }

    /// Attaches, after whatever `first` says.
    pub(super) async fn attach(&mut self, first: Vec<Observation>) -> Result<(), Error> {
        let mut observations = first;
        observations.push(self.attachment().into());
        self.session
            .library_mut()
            .add_catalog(self.agent.catalog.clone());
        self.session
            .library_mut()
            .add_policies(self.agent.policies.clone());
        let objects = Objects::terms(&self.agent.catalog, &self.agent.policies);
        self.put(observations, objects).await?;
        self.attached = self.session.runner.map(|runner| runner.seq);
        self.perform().await
    }

    /// Attaches where a call waits for somebody who can run it. A session that merely waits gets no event.
    pub(super) async fn attach_if_needed(&mut self) -> Result<(), Error> {
        // A call that still runs was begun by a process that is gone: whoever takes its place finds out what to do.
        let waits = |it: &Call| matches!(it.phase.waits_for(), WaitsFor::Runner | WaitsFor::Tool);
        let needed = self.attached.is_none() && self.session.calls.values().any(waits);
        if needed {
            self.attach(Vec::new()).await?;
        }
        Ok(())
    }
}
