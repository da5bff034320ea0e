//! Agents of sessions whose connection a gateway relays.

use std::collections::BTreeSet;

use super::agent::Agent;
use super::changed::Names;
use super::prepared::Prepared;
use super::reconnects::Reconnects;
use crate::ledger::Ledger;
use crate::live::{Capabilities, Platform};
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
        let mut source = (*self.source).clone();
        let mut changes = ToolChanges::new();
        for gone in &self.of_client {
            changes = changes.without_if_present(gone);
        }
        let names = tools.tools().iter().map(PolicyTool::name);
        let names: BTreeSet<String> = names.map(str::to_owned).collect();
        let own = std::mem::take(&mut source.tools);
        let applied = changes.with(tools).applied_to(own);
        source.tools = applied.map_err(|error| {
            let mistakes = error.mistakes.iter().map(ToString::to_string);
            let named = mistakes.map(|it| format!("agent {:?}: {it}", self.name));
            named.collect::<Vec<_>>()
        })?;
        if let Some((model, platform)) = model {
            model.clone_into(&mut source.model);
            source.capabilities = Some(Capabilities::of(platform, model));
        }
        (source.connector, source.instruction) = (None, None);
        source.reconnects = Reconnects::never();
        let mut changed = self.with_source(Box::new(source), Names::Those, ledger)?;
        changed.of_client = names;
        Ok(changed)
    }

    /// Returns the tools that the policy files name.
    pub(in crate::engine) fn named_in_policies(&self) -> BTreeSet<String> {
        let files = self.source.policies.iter();
        files.flat_map(|file| file.tools.keys().cloned()).collect()
    }
}
