//! Policies of an agent beside those of its tools, and the files that say other ones.

use crate::session::{PolicyChanges, PolicySet};
use crate::tool::{RegistrationError, Toolset};

use super::agent::Agent;

impl Agent {
    /// How many calls of a session run at the same time; without it, any number.
    pub fn running_max(mut self, calls: u32) -> Agent {
        self.running_max = Some(calls);
        self
    }

    /// Puts what a file of policies says in the place of what was said so far and will be said of tools, phases and limits; of
    /// two files the later counts. What is not right is said when the agent is registered.
    ///
    /// ```
    /// use recount::prelude::*;
    /// use recount::tool::policy_file;
    ///
    /// // As a rule `std::fs::read_to_string("policies.toml")?`.
    /// let text = r#"{"tools": {"refund": {"confirm": "Refund this order?", "limit_per_session": 3}}}"#;
    /// let agent = Agent::new()
    ///     .model("gemini-live-2.5-flash")
    ///     .tools(T::simple("refund", "Refunds an order", |_| async { Ok(json!({"refunded": true})) }))
    ///     .policies(policy_file::parse(text)?);
    /// # let _ = agent;
    /// # Ok::<(), policy_file::PolicyFileError>(())
    /// ```
    pub fn policies(mut self, changes: PolicyChanges) -> Agent {
        self.policies.push(changes);
        self
    }
}

/// The tools with what the files say of them.
pub(super) fn of_tools(
    tools: Toolset,
    files: &[PolicyChanges],
) -> Result<Toolset, RegistrationError> {
    let changed = |tools: Toolset, changes| tools.with_policies(changes);
    files.iter().try_fold(tools, changed)
}

/// The agent's policies with what the files say beside the tools, which have theirs by now.
pub(super) fn of_agent(policies: PolicySet, files: &[PolicyChanges]) -> PolicySet {
    let changed = |policies, changes: &PolicyChanges| changes.applied_to(policies, []);
    files.iter().fold(policies, changed)
}
