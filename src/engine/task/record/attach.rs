//! Attaching: from then on this process runs the session's tools.

use crate::engine::error::Error;
use crate::engine::task::parts::Stream;
use crate::engine::task::session_task::SessionTask;
use crate::session::{Call, ObjectHash, Observation, Phase, RunnerAttached, WaitsFor};

impl SessionTask {
    /// Returns the `runner_attached` of this process.
    pub(in crate::engine) fn attachment(
        &self,
        [catalog, policies]: [ObjectHash; 2],
        rules: u32,
    ) -> RunnerAttached {
        RunnerAttached {
            agent: self.agent.name.clone(),
            catalog,
            policies,
            rules,
            program: crate::engine::program::PROGRAM.to_owned(),
            gates: self.agent.gates.clone(),
            goes_on: false,
        }
    }

    /// Attaches this process as the runner, after recording `first`.
    pub(in crate::engine) async fn attach(&mut self, first: Vec<Observation>) -> Result<(), Error> {
        let mut observations = first;
        let (catalog, policies) = (
            self.current_catalog(&self.agent).await,
            self.agent.policies.clone(),
        );
        let rules = self.stream.session.rules_needed(&catalog, &policies);
        let (objects, addresses) = self.named_terms(catalog, policies)?;
        observations.push(self.attachment(addresses, rules).into());
        self.put(observations, objects).await?;
        self.running.attached = self.stream.session.runner.map(|runner| runner.seq);
        self.stream.warn_of_gone_tools();
        self.perform().await
    }

    /// Attaches if a call waits for a runner. A session that only waits gets no event.
    pub(in crate::engine) async fn attach_if_needed(&mut self) -> Result<(), Error> {
        // A running call was started by a process that is gone; the next runner decides what to do.
        let tools = self.stream.session.terms.catalog.clone();
        let at_client = |it: &Call| {
            let declared = tools.get(&it.name);
            it.held_claim().is_some() || declared.is_some_and(|it| it.kind.runs_at_client())
        };
        // A client claims its call without a runner.
        let waits = |it: &Call| {
            let by_runner = matches!(
                it.phase.waits_for(),
                WaitsFor::Runner | WaitsFor::Tool | WaitsFor::Hook
            );
            by_runner && !at_client(it) || it.in_place().is_some()
        };
        // An engine that shuts down starts nothing, so the next one attaches.
        let may = self.running.attached.is_none() && !self.shared.slots.is_shut();
        let needed = may && self.stream.session.calls.values().any(waits);
        if needed {
            self.attach(Vec::new()).await?;
        }
        Ok(())
    }
}

impl Stream {
    /// Warns about startable calls whose tool is gone. They wait for a program that has it.
    fn warn_of_gone_tools(&self) {
        let tools = &self.session.terms.catalog.tools;
        for (seq, call) in &self.session.calls {
            if matches!(call.phase, Phase::Ready { .. }) && !tools.contains_key(&call.name) {
                let (session, call, tool) = (self.session.id, seq.0, &call.name);
                tracing::warn!(
                    %session, call, tool,
                    "a call may run, and the agent has no tool of that name any more: \
                     it waits until one has, or the call is cancelled"
                );
            }
        }
    }
}
