//! Policies of an agent other than those of its tools, and policy files that override them.

use std::time::Duration;

use super::agent::Agent;
use super::limits_of_asking::LimitsOfAsking;
use crate::session::{OnExpiry, PolicyChanges, PolicySet, ToolPolicy};
use crate::tool::{RegistrationError, Toolset};

/// The default maximum number of calls in one message. Models make a handful at once; 128 is far
/// beyond that. The batch of so many calls is still small: 512 records and one sync.
const CALLS_PER_MESSAGE_MAX: u32 = 128;

/// The default maximum number of open calls in a session. An operator can follow a few dozen; 1,000
/// is far beyond that. A restart handles so many in milliseconds.
const OPEN_CALLS_MAX: u32 = 1_000;

/// The maximum numbers of calls in a session.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallLimits {
    /// The maximum number that run at the same time.
    running: Option<u32>,
    /// The maximum number in one message of the model.
    per_message: Option<u32>,
    /// The maximum number that are open at the same time.
    open: Option<u32>,
    /// The limits of asking.
    pub(super) asking: LimitsOfAsking,
}

impl Default for CallLimits {
    fn default() -> CallLimits {
        CallLimits {
            running: None,
            per_message: Some(CALLS_PER_MESSAGE_MAX),
            open: Some(OPEN_CALLS_MAX),
            asking: LimitsOfAsking::default(),
        }
    }
}

impl CallLimits {
    /// Returns the policies of the tools with these limits.
    pub(in crate::engine) fn of(self, tools: PolicySet) -> PolicySet {
        PolicySet {
            running_max: self.running,
            calls_per_message_max: self.per_message,
            open_calls_max: self.open,
            max_open_requests: self.asking.open_requests,
            answers_per_minute: self.asking.answers_per_minute,
            ..tools
        }
    }
}

impl Agent {
    /// Sets the maximum number of calls of a session that run at the same time. The default is
    /// unlimited.
    pub fn running_max(mut self, calls: u32) -> Agent {
        self.call_limits.running = Some(calls);
        self
    }

    /// Sets the maximum number of calls in one message of the model; 128 by default. Each call
    /// beyond it is recorded and refused, so that the model waits for none of them.
    ///
    /// ```
    /// use recount::prelude::*;
    ///
    /// let agent = Agent::new()
    ///     .model("gemini-3.8-live")
    ///     .calls_per_message_max(16)
    ///     .open_calls_max(200);
    /// # let _ = agent;
    /// ```
    pub fn calls_per_message_max(mut self, calls: u32) -> Agent {
        self.call_limits.per_message = Some(calls);
        self
    }

    /// Sets the maximum number of open calls in a session; 1,000 by default.
    ///
    /// A call is open while it waits for an approver, an outside result or its tool. A call beyond
    /// the limit is refused with a response. A policy file can remove the limit:
    /// `open_calls_max = false`.
    pub fn open_calls_max(mut self, calls: u32) -> Agent {
        self.call_limits.open = Some(calls);
        self
    }

    /// Sets the time for which a waiting call is not acknowledged, for tools that set none
    /// themselves. It begins with the question, or with the pause of the tool.
    ///
    /// A call that is decided before that time gets only its final response, by its id. After it,
    /// the model gets an interim response and no longer waits. By default it gets that at once. The
    /// time of one tool is [`T::acknowledge_after`](crate::tool::T::acknowledge_after).
    ///
    /// ```
    /// use recount::prelude::*;
    /// use std::time::Duration;
    ///
    /// let agent = Agent::new()
    ///     .model("gemini-3.8-live")
    ///     .acknowledge_after(Duration::from_secs(10));
    /// # let _ = agent;
    /// ```
    pub fn acknowledge_after(mut self, time: Duration) -> Agent {
        self.acknowledge_after = Some(time);
        self
    }

    /// Sets the time after which an open question expires, for gates that set none; by default they
    /// wait without limit. The call then counts as denied, unless
    /// [`gates_on_expiry`](Agent::gates_on_expiry) says otherwise. The time of one tool is
    /// [`T::confirm_within`](crate::tool::T::confirm_within).
    ///
    /// ```
    /// use recount::prelude::*;
    /// use std::time::Duration;
    ///
    /// let agent = Agent::new().gates_expire_after(Duration::from_secs(30 * 60));
    /// # let _ = agent;
    /// ```
    pub fn gates_expire_after(mut self, time: Duration) -> Agent {
        self.gates_expire_after = Some(time);
        self
    }

    /// Sets the effect of an expiry for gates that take the time of
    /// [`gates_expire_after`](Agent::gates_expire_after); by default their calls count as denied.
    ///
    /// **[`OnExpiry::Allow`] fails open.** A gate with a time or a choice of its own keeps it. An
    /// expiry never opens a gate that only a person can meet, such as one with approvers.
    ///
    /// ```
    /// use recount::prelude::*;
    /// use recount::session::OnExpiry;
    /// use std::time::Duration;
    ///
    /// let agent = Agent::new()
    ///     .gates_expire_after(Duration::from_secs(30 * 60))
    ///     .gates_on_expiry(OnExpiry::Allow);
    /// # let _ = agent;
    /// ```
    pub fn gates_on_expiry(mut self, on_expiry: OnExpiry) -> Agent {
        self.gates_on_expiry = Some(on_expiry);
        self
    }

    /// Returns the tools with the agent's time for gates that have none.
    pub(super) fn with_expiring_gates(&self, tools: Toolset) -> Toolset {
        let Some(time) = self.gates_expire_after else {
            return tools;
        };
        tools.map(|tool| {
            let policy = tool.policy();
            if !policy.confirm || policy.gate_terms.expires_after.is_some() {
                return tool;
            }
            let mut expiring = ToolPolicy::default();
            expiring.gate_terms.expires_after = Some(time);
            let needs_person = policy.gate_terms.needs_person().is_some();
            let chosen = self.gates_on_expiry.filter(|_| !needs_person);
            expiring.gate_terms.on_expiry = policy.gate_terms.on_expiry.or(chosen);
            tool.with_policy(expiring)
        })
    }

    /// Applies a policy file, which overrides what the code sets for tools, phases and limits.
    ///
    /// The order of calls does not matter; of two files the later counts. Mistakes are reported
    /// when the agent is registered.
    ///
    /// ```
    /// use recount::prelude::*;
    /// use recount::tool::policy_file;
    ///
    /// // As a rule `std::fs::read_to_string("policies.toml")?`.
    /// let text =
    ///     r#"{"tools": {"refund": {"confirm": "Refund this order?", "limit_per_session": 3}}}"#;
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

/// Returns the tools with the policies of the files applied.
pub(in crate::engine) fn of_tools(
    tools: Toolset,
    files: &[PolicyChanges],
) -> Result<Toolset, RegistrationError> {
    let changed = |tools: Toolset, changes| tools.with_policies(changes);
    files.iter().try_fold(tools, changed)
}

/// Returns the agent's policies with the files applied. The tools have theirs already.
pub(in crate::engine) fn of_agent(policies: PolicySet, files: &[PolicyChanges]) -> PolicySet {
    let changed = |policies, changes: &PolicyChanges| changes.applied_to(policies, []);
    files.iter().fold(policies, changed)
}

/// Returns the mistakes in the time of acknowledgements.
pub(super) fn mistakes(policies: &PolicySet) -> Vec<String> {
    let zero = policies.acknowledge_after.filter(Duration::is_zero);
    zero.map(|_| "acknowledge_after: expected at least 1 ms, found 0".to_owned())
        .into_iter()
        .collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
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
    fn policy_file_overrides_code_and_later_file_wins() {
        let files = [
            file(json!({
                "defaults": {"timeout": "5s", "confirm": true},
                "tools": {"look": {"confirm": false}}
            })),
            file(json!({"tools": {"pay": {"in_doubt": "retry", "timeout": "9s"}}})),
        ];
        let mut dispatcher = ToolDispatcher::new();
        dispatcher
            .register(of_tools(tools(), &files).unwrap())
            .unwrap();
        let policies = dispatcher.policies();
        let pay = policies.of("pay");
        // The gate is static now, and the closure is not called.
        assert!(pay.confirm && !pay.gate_terms.asks_program);
        assert_eq!(pay.timeout, Some(Duration::from_secs(9)));
        assert_eq!(pay.in_doubt, InDoubt::Retry);
        let look = policies.of("look");
        assert!(!look.confirm && look.timeout == Some(Duration::from_secs(5)));
        // Policies do not apply to tools that the service runs.
        assert_eq!(
            policies.of("google_search"),
            &crate::session::ToolPolicy::default()
        );
    }

    #[test]
    fn policy_file_sets_agent_policies() {
        let files = [file(
            json!({"running_max": 2, "timeout": false, "acknowledge_after": "10s",
                "phases": [{"name": "a"}]}),
        )];
        let before = PolicySet {
            timeout: Some(Duration::from_secs(30)),
            ..PolicySet::default()
        };
        let after = of_agent(before, &files);
        assert_eq!((after.running_max, after.timeout), (Some(2), None));
        assert_eq!(after.acknowledge_after, Some(Duration::from_secs(10)));
        assert_eq!(after.phases.len(), 1);
    }

    #[test]
    fn time_of_zero_for_acknowledgements_is_a_mistake() {
        let zero = PolicySet {
            acknowledge_after: Some(Duration::ZERO),
            ..PolicySet::default()
        };
        let expected = ["acknowledge_after: expected at least 1 ms, found 0"];
        assert_eq!(mistakes(&zero), expected);
        assert!(mistakes(&PolicySet::default()).is_empty());
    }

    #[test]
    fn policy_file_for_unknown_tool_is_refused() {
        let files = [file(json!({"tools": {"pai": {}, "nothing_like_it": {}}}))];
        let error = of_tools(tools(), &files).unwrap_err();
        let lines: Vec<String> = error.mistakes.iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "the policies speak of the tool \"nothing_like_it\", which is not there; \
                 there are google_search, look, pay",
                "the policies speak of the tool \"pai\", which is not there; did you mean \"pay\"?",
            ]
        );
    }
}
