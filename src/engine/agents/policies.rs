//! Policies of an agent beside those of its tools, and the files that say other ones.

use super::agent::Agent;
use crate::session::{PolicyChanges, PolicySet};
use crate::tool::{RegistrationError, Toolset};

/// The maximum number of calls of one message, unless the agent says otherwise. Models make a
/// handful at once; 128 is far beyond that, and the batch of so many calls is still small: 512
/// records and one sync.
const CALLS_PER_MESSAGE_MAX: u32 = 128;

/// The maximum number of open calls of a session, unless the agent says otherwise. A person who
/// looks after a session can follow a few dozen; 1,000 is far beyond that, and what a restart does
/// for so many takes milliseconds.
const OPEN_CALLS_MAX: u32 = 1_000;

/// The maximum numbers of calls that a session takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallLimits {
    /// Those that run at the same time.
    running: Option<u32>,
    /// Those of one message of the model.
    per_message: Option<u32>,
    /// Those that are open at the same time.
    open: Option<u32>,
}

impl Default for CallLimits {
    fn default() -> CallLimits {
        CallLimits {
            running: None,
            per_message: Some(CALLS_PER_MESSAGE_MAX),
            open: Some(OPEN_CALLS_MAX),
        }
    }
}

impl CallLimits {
    /// The policies of the tools with these limits beside them.
    pub(in crate::engine) fn of(self, tools: PolicySet) -> PolicySet {
        PolicySet {
            running_max: self.running,
            calls_per_message_max: self.per_message,
            open_calls_max: self.open,
            ..tools
        }
    }
}

impl Agent {
    /// How many calls of a session run at the same time; without it, any number.
    pub fn running_max(mut self, calls: u32) -> Agent {
        self.call_limits.running = Some(calls);
        self
    }

    /// The maximum number of calls that one message of the model may bring: 128 unless it is said
    /// here. Each call beyond it is on record and refused, so that the model waits for none of
    /// them.
    ///
    /// ```
    /// use recount::prelude::*;
    ///
    /// let agent = Agent::new().model("gemini-3.8-live").calls_per_message_max(16).open_calls_max(200);
    /// # let _ = agent;
    /// ```
    pub fn calls_per_message_max(mut self, calls: u32) -> Agent {
        self.call_limits.per_message = Some(calls);
        self
    }

    /// The maximum number of calls of a session that may be open at the same time, for a person, a
    /// result from outside or their tools: 1,000 unless it is said here. A call that comes while so
    /// many are open is refused, with a response. A file of policies can take the limit away:
    /// `open_calls_max = false`.
    pub fn open_calls_max(mut self, calls: u32) -> Agent {
        self.call_limits.open = Some(calls);
        self
    }

    /// Puts what a file of policies says in the place of what was said so far and will be said of
    /// tools, phases and limits; of two files the later counts. What is not right is said when the
    /// agent is registered.
    ///
    /// ```
    /// use recount::prelude::*;
    /// use recount::tool::policy_file;
    ///
    /// // As a rule `std::fs::read_to_string("policies.toml")?`.
    /// let text = r#"{"tools": {"refund": {"confirm": "Refund this order?", "limit_per_session": 3}}}"#;
    /// let agent = Agent::new()
    ///     .model("gemini-3.8-live")
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
pub(in crate::engine) fn of_tools(
    tools: Toolset,
    files: &[PolicyChanges],
) -> Result<Toolset, RegistrationError> {
    let changed = |tools: Toolset, changes| tools.with_policies(changes);
    files.iter().try_fold(tools, changed)
}

/// The agent's policies with what the files say beside the tools, which have theirs by now.
pub(in crate::engine) fn of_agent(policies: PolicySet, files: &[PolicyChanges]) -> PolicySet {
    let changed = |policies, changes: &PolicyChanges| changes.applied_to(policies, []);
    files.iter().fold(policies, changed)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::session::InDoubt;
    use crate::tool::{T, ToolDispatcher, policy_file};
    use serde_json::json;

    fn file(text: serde_json::Value) -> PolicyChanges {
        policy_file::parse(&text.to_string()).unwrap()
    }

    fn tools() -> Toolset {
        let pay = T::simple("pay", "Pays", |_| async { Ok(json!({})) });
        let pay = T::in_doubt(
            T::confirm_when_fn(pay, "Pay?", |_, _| async { true }),
            InDoubt::Ask,
        );
        pay | T::simple("look", "Looks", |_| async { Ok(json!({})) }) | T::google_search()
    }

    #[test]
    fn what_a_file_says_replaces_what_the_code_says_and_the_later_file_counts() {
        let files = [
            file(
                json!({"defaults": {"timeout": "5s", "confirm": true}, "tools": {"look": {"confirm": false}}}),
            ),
            file(json!({"tools": {"pay": {"in_doubt": "retry", "timeout": "9s"}}})),
        ];
        let mut dispatcher = ToolDispatcher::new();
        dispatcher
            .register(of_tools(tools(), &files).unwrap())
            .unwrap();
        let policies = dispatcher.policies();
        let pay = policies.of("pay");
        // The gate is one by data now, and the closure is not asked.
        assert!(pay.confirm && !pay.gate_terms.asks_program);
        assert_eq!(pay.timeout, Some(Duration::from_secs(9)));
        assert_eq!(pay.in_doubt, InDoubt::Retry);
        let look = policies.of("look");
        assert!(!look.confirm && look.timeout == Some(Duration::from_secs(5)));
        // What the service runs itself is left alone.
        assert_eq!(
            policies.of("google_search"),
            &crate::session::ToolPolicy::default()
        );
    }

    #[test]
    fn what_a_file_says_beside_the_tools_is_the_agents() {
        let files = [file(
            json!({"running_max": 2, "timeout": false, "phases": [{"name": "a"}]}),
        )];
        let before = PolicySet {
            timeout: Some(Duration::from_secs(30)),
            ..PolicySet::default()
        };
        let after = of_agent(before, &files);
        assert_eq!((after.running_max, after.timeout), (Some(2), None));
        assert_eq!(after.phases.len(), 1);
    }

    #[test]
    fn a_file_that_speaks_of_a_tool_that_is_not_there_is_refused() {
        let files = [file(json!({"tools": {"pai": {}, "nothing_like_it": {}}}))];
        let error = of_tools(tools(), &files).unwrap_err();
        let lines: Vec<String> = error.mistakes.iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "the policies speak of the tool \"nothing_like_it\", which is not there; there are google_search, look, pay",
                "the policies speak of the tool \"pai\", which is not there; did you mean \"pay\"?",
            ]
        );
    }
}
