//! Agents whose tools were changed for one session.
//!
//! A change lives as long as its session and this process. A later process begins with the tools of
//! the registered agent. The tools of a relayed client live as long as its session's task.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::agent::Agent;
use super::prepared::Prepared;
use super::relayed::RelayedAgents;
use crate::ledger::Ledger;
use crate::session::{PolicyChanges, PolicySet, SessionId};
use crate::tool::{PolicyTool, ToolChanges};

/// The names of tools in policy files that count.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) enum Names {
    /// All of them. One that is not there is a mistake.
    All,
    /// Those of tools that are there.
    Those,
}

/// The agents of the sessions whose tools were changed.
#[derive(Default)]
pub(in crate::engine) struct ChangedAgents {
    of_sessions: Mutex<BTreeMap<SessionId, Arc<Prepared>>>,
    /// Those of relayed connections, which sessions share.
    pub(in crate::engine) relayed: RelayedAgents,
}

impl ChangedAgents {
    fn agents(&self) -> MutexGuard<'_, BTreeMap<SessionId, Arc<Prepared>>> {
        self.of_sessions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the agent of a session with changed tools.
    pub(in crate::engine) fn of(&self, session: SessionId) -> Option<Arc<Prepared>> {
        self.agents().get(&session).cloned()
    }

    /// Returns those of one registered agent, with their sessions.
    pub(in crate::engine) fn of_agent(&self, name: &str) -> Vec<(SessionId, Arc<Prepared>)> {
        let agents = self.agents();
        let named = agents.iter().filter(|(_, agent)| agent.name == name);
        named.map(|(session, it)| (*session, it.clone())).collect()
    }

    /// Returns all of them.
    pub(in crate::engine) fn all(&self) -> Vec<Arc<Prepared>> {
        self.agents().values().cloned().collect()
    }

    /// Sets the agent of a session.
    pub(in crate::engine) fn set(&self, session: SessionId, agent: Arc<Prepared>) {
        self.agents().insert(session, agent);
    }

    /// Forgets the agent of a session that is closed, or whose client declares its tools anew.
    pub(in crate::engine) fn forget(&self, session: SessionId) {
        self.agents().remove(&session);
    }
}

impl Prepared {
    /// Returns the agent with other tools. Everything else stays, also the gates.
    ///
    /// `on_record` are the policies of a fixture that is played.
    pub(in crate::engine) fn with_tools(
        &self,
        changes: ToolChanges,
        on_record: Option<PolicySet>,
        ledger: &Ledger,
    ) -> Result<Prepared, Vec<String>> {
        let mut source = self.source.clone();
        let tools = changes.applied_to(std::mem::take(&mut source.tools));
        let of_agent = |it: String| format!("agent {:?}: {it}", self.name);
        let tools = tools.map_err(|error| {
            let mistakes = error.mistakes.iter().map(ToString::to_string);
            mistakes.map(of_agent).collect::<Vec<_>>()
        })?;
        source.tools = tools;
        source.on_record = on_record.or(source.on_record);
        let mut changed = self.with_source(source, Names::Those, ledger)?;
        changed.is_changed = true;
        Ok(changed)
    }

    /// Returns the agent with other policy files. Everything else stays, also the gates.
    ///
    /// A file of a session with changed tools may name tools that are gone.
    pub(in crate::engine) fn with_policies(
        &self,
        files: Vec<PolicyChanges>,
        names: Names,
        ledger: &Ledger,
    ) -> Result<Prepared, Vec<String>> {
        let mut source = self.source.clone();
        source.policies = files;
        self.with_source(source, names, ledger)
    }

    pub(super) fn with_source(
        &self,
        source: Box<Agent>,
        names: Names,
        ledger: &Ledger,
    ) -> Result<Prepared, Vec<String>> {
        let mut agent = (*source).clone();
        match names {
            Names::All => {}
            // A file and a mode may name a tool that is gone. It counts again when the tool comes
            // back.
            Names::Those => {
                let names = source.tools.tools().iter().map(PolicyTool::name);
                let names: Vec<&str> = names.collect();
                agent
                    .modes
                    .retain(|(name, _)| names.contains(&name.as_str()));
                for file in &mut agent.policies {
                    file.tools.retain(|name, _| names.contains(&name.as_str()));
                }
            }
        }
        agent.recording = None;
        let mut changed = agent.prepare(&self.name, ledger)?;
        changed.recorder.clone_from(&self.recorder);
        changed.of_client.clone_from(&self.of_client);
        changed.is_changed = self.is_changed;
        changed.gates.clone_from(&self.gates);
        changed.source = source;
        Ok(changed)
    }

    /// True if one of the tools finds the results of its paused calls itself.
    pub(in crate::engine) fn follows_calls(&self) -> bool {
        let follows = |name| self.dispatcher.get(name).is_some_and(PolicyTool::follows);
        self.dispatcher.names().any(follows)
    }
}
