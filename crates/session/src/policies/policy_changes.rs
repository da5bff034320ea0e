//! Changes to the policies of an agent, as data.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;

use super::approvers::Approvers;
use super::condition::Condition;
use super::phase::PhaseDeclaration;
use super::policy::{
    Background, Edits, InDoubt, OnExpiry, OptionalGateTerms, PolicySet, Progress, Repeats, Retry,
    ToolPolicy,
};

/// The changes in a policy file. A setting in the file replaces the agent's; all others remain. So
/// a gate can be removed as well as added.
///
/// A field that is `None` changes nothing. `Some(None)` removes the setting.
///
/// ```
/// use recount_session::policy::{PolicySet, ToolPolicy};
/// use recount_session::{PolicyChanges, ToolPolicyChanges};
/// use std::time::Duration;
///
/// let mut changes = PolicyChanges::default();
/// let timeout = Some(Some(Duration::from_secs(60)));
/// let slower = ToolPolicyChanges { timeout, ..ToolPolicyChanges::default() };
/// changes.tools.insert("search".to_owned(), slower);
/// let tools = [("search".to_owned(), ToolPolicy::gate("Search?"))].into();
/// let set = PolicySet { tools, ..PolicySet::default() };
/// let changed = changes.applied_to(set, ["search"]);
/// assert_eq!(changed.of("search").timeout, Some(Duration::from_secs(60)));
/// assert!(changed.of("search").confirm);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PolicyChanges {
    /// The maximum number of calls of a session that run at the same time.
    pub running_max: Option<Option<u32>>,
    /// The maximum number of calls in one message of the model.
    pub calls_per_message_max: Option<Option<u32>>,
    /// The maximum number of open calls of a session.
    pub open_calls_max: Option<Option<u32>>,
    /// The maximum number of open confirmation requests of a session.
    pub max_open_requests: Option<Option<u32>>,
    /// The maximum number of approvals by one person in any sixty seconds.
    pub answers_per_minute: Option<Option<u32>>,
    /// The time limit of inline calls whose tool sets none.
    pub timeout: Option<Option<Duration>>,
    /// The time for which a waiting call is not acknowledged, if its tool sets none.
    pub acknowledge_after: Option<Option<Duration>>,
    /// All phases of the conversation.
    pub phases: Option<Vec<PhaseDeclaration>>,
    /// The changes for every tool.
    pub defaults: ToolPolicyChanges,
    /// The changes for single tools, by name. They override the defaults.
    pub tools: BTreeMap<String, ToolPolicyChanges>,
}

/// Changes to the policy of one tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolPolicyChanges {
    /// The gate. It applies to every call unless `confirm_when` is set, too.
    pub confirm: Option<GateChange>,
    /// The condition of the gate. It adds a gate where there is none. `Some(None)`: every call.
    pub confirm_when: Option<Option<Condition>>,
    /// The time after which a request without an answer expires.
    pub confirm_expires_after: Option<Option<Duration>>,
    /// The effect of an expiry. `Some(None)`: what the agent chooses.
    pub confirm_on_expiry: Option<Option<OnExpiry>>,
    /// The JSON Schema of the payload of an approval.
    pub confirm_payload: Option<Option<Value>>,
    /// The right of an approver to change the arguments.
    pub confirm_edits: Option<Option<Edits>>,
    /// The people who may answer.
    pub approvers: Option<BTreeSet<Approvers>>,
    /// True if the requester of the call may not approve it.
    pub not_requester: Option<bool>,
    /// The number of persons who must approve.
    pub quorum: Option<Option<u32>>,
    /// The words that the model receives at once while an approver decides.
    pub acknowledge: Option<Option<Value>>,
    /// The time for which a waiting call is not acknowledged.
    pub acknowledge_after: Option<Option<Duration>>,
    /// True if the reason of a denial is not sent to the model.
    pub keep_reason: Option<bool>,
    /// The maximum number of open confirmation requests about calls of the tool.
    pub max_open_requests: Option<Option<u32>>,
    /// True if an approval may also allow later calls of the tool in the session.
    pub may_allow_for_session: Option<bool>,
    /// True if a cancellation by the model withdraws the confirmation request.
    pub withdraw_on_cancel: Option<bool>,
    /// The time limit of one run.
    pub timeout: Option<Option<Duration>>,
    /// The rule for a call that was cut off.
    pub in_doubt: Option<InDoubt>,
    /// The reuse of results.
    pub cached: Option<CacheChange>,
    /// The setting for calls that the model does not wait for.
    pub background: Option<Option<Background>>,
    /// The retries of a failed run.
    pub retry: Option<Option<Retry>>,
    /// The maximum number of calls in the whole session.
    pub limit_per_session: Option<Option<u32>>,
    /// The maximum number of calls in any sixty seconds.
    pub limit_per_minute: Option<Option<u32>>,
    /// The phases in which the tool may be called.
    pub phases: Option<Option<BTreeSet<String>>>,
    /// The condition on the state under which the tool may be called.
    pub when: Option<Option<Condition>>,
    /// The rule for an equal call while the first has not ended.
    pub repeats: Option<Repeats>,
    /// True if a result whose `status` is `pending` or `in_progress` does not end the call.
    pub interim_status: Option<bool>,
    /// The effect of the progress that a run reports.
    pub progress: Option<Option<Progress>>,
}

/// A change of a gate.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum GateChange {
    /// No approver is asked.
    Open,
    /// An approver is asked.
    Closed {
        /// The hint for the approver. `None`: the hint of before.
        hint: Option<String>,
    },
}

/// A change of the reuse of results.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CacheChange {
    /// Results are not reused.
    Off,
    /// Results are reused.
    On {
        /// The maximum age of a result. `None`: the age of the session.
        max_age: Option<Duration>,
    },
}

impl PolicyChanges {
    /// Returns the policies of these `tools` after the changes. Entries of other tools remain as
    /// they are. Names in the file that match none of the tools are ignored here.
    #[must_use]
    pub fn applied_to<'t>(
        &self,
        mut set: PolicySet,
        tools: impl IntoIterator<Item = &'t str>,
    ) -> PolicySet {
        for tool in tools {
            let before = set.of(tool);
            let after = self.changed(tool, before.clone());
            if after != *before {
                set.tools.insert(tool.to_owned(), after);
            }
        }
        set.running_max = self.running_max.unwrap_or(set.running_max);
        set.calls_per_message_max = self
            .calls_per_message_max
            .unwrap_or(set.calls_per_message_max);
        set.open_calls_max = self.open_calls_max.unwrap_or(set.open_calls_max);
        set.max_open_requests = self.max_open_requests.unwrap_or(set.max_open_requests);
        set.answers_per_minute = self.answers_per_minute.unwrap_or(set.answers_per_minute);
        set.timeout = self.timeout.unwrap_or(set.timeout);
        set.acknowledge_after = self.acknowledge_after.unwrap_or(set.acknowledge_after);
        if let Some(phases) = &self.phases {
            set.phases.clone_from(phases);
        }
        set
    }

    /// Returns the policy of one tool after the changes.
    #[must_use]
    pub fn changed(&self, tool: &str, policy: ToolPolicy) -> ToolPolicy {
        let policy = self.defaults.changed(policy);
        match self.tools.get(tool) {
            Some(changes) => changes.changed(policy),
            None => policy,
        }
    }
}

impl ToolPolicyChanges {
    /// Returns the policy after the changes.
    #[must_use]
    pub fn changed(&self, mut policy: ToolPolicy) -> ToolPolicy {
        match &self.confirm {
            None => {}
            Some(GateChange::Open) => open(&mut policy),
            Some(GateChange::Closed { hint }) => {
                close(&mut policy, None);
                policy.confirm_message = hint.clone().or(policy.confirm_message);
            }
        }
        if let Some(when) = &self.confirm_when {
            close(&mut policy, when.clone());
        }
        let mut terms = policy.gate_terms.into_terms();
        set(&mut terms.expires_after, &self.confirm_expires_after);
        set(&mut terms.on_expiry, &self.confirm_on_expiry);
        set(&mut terms.payload, &self.confirm_payload);
        set(&mut terms.edits, &self.confirm_edits);
        set(&mut terms.keeps_reason, &self.keep_reason);
        set(
            &mut terms.may_allow_for_session,
            &self.may_allow_for_session,
        );
        set(&mut terms.approvers, &self.approvers);
        set(&mut terms.not_requester, &self.not_requester);
        set(&mut terms.quorum, &self.quorum);
        set(&mut terms.max_open_requests, &self.max_open_requests);
        policy.gate_terms = terms.into();
        set(&mut policy.acknowledgement, &self.acknowledge);
        set(&mut policy.acknowledge_after, &self.acknowledge_after);
        set(&mut policy.withdraw_on_cancel, &self.withdraw_on_cancel);
        set(&mut policy.timeout, &self.timeout);
        set(&mut policy.in_doubt, &self.in_doubt);
        match self.cached {
            None => {}
            Some(CacheChange::Off) => (policy.cache, policy.cache_max_age) = (false, None),
            Some(CacheChange::On { max_age }) => {
                (policy.cache, policy.cache_max_age) = (true, max_age);
            }
        }
        set(&mut policy.background, &self.background);
        set(&mut policy.retry, &self.retry);
        set(&mut policy.limits.per_session, &self.limit_per_session);
        set(&mut policy.limits.per_minute, &self.limit_per_minute);
        set(&mut policy.phases, &self.phases);
        set(&mut policy.when, &self.when);
        set(&mut policy.repeats, &self.repeats);
        set(&mut policy.interim_status, &self.interim_status);
        set(&mut policy.progress, &self.progress);
        policy
    }

    /// True if the changes set the gate, so that the tool's own code no longer decides it.
    #[must_use]
    pub fn decides_gate(&self) -> bool {
        self.confirm.is_some() || self.confirm_when.is_some()
    }
}

/// Removes the gate and all its terms.
fn open(policy: &mut ToolPolicy) {
    policy.confirm = false;
    policy.confirm_message = None;
    policy.gate_terms = OptionalGateTerms::NONE;
}

/// Sets a gate by data alone. It replaces a gate that the program decides.
fn close(policy: &mut ToolPolicy, when: Option<Condition>) {
    policy.confirm = true;
    policy.gate_terms.when = when;
    policy.gate_terms.asks_program = false;
}

fn set<V: Clone>(field: &mut V, to: &Option<V>) {
    if let Some(to) = to {
        field.clone_from(to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policies::condition::Comparison;
    use crate::policies::condition::S;
    use crate::policies::policy::Limits;
    use crate::policy::GateTerms;

    fn gated_by_program() -> ToolPolicy {
        ToolPolicy {
            gate_terms: GateTerms {
                asks_program: true,
                expires_after: Some(Duration::from_secs(9)),
                ..GateTerms::default()
            }
            .into(),
            timeout: Some(Duration::from_secs(5)),
            ..ToolPolicy::gate("Pay?")
        }
    }

    #[test]
    fn what_is_not_spoken_of_stays() {
        let policy = gated_by_program();
        assert_eq!(ToolPolicyChanges::default().changed(policy.clone()), policy);
        let set = PolicySet {
            tools: [("pay".to_owned(), policy)].into(),
            running_max: Some(3),
            timeout: Some(Duration::from_secs(1)),
            phases: vec![PhaseDeclaration::default()],
            ..PolicySet::default()
        };
        let same = PolicyChanges::default().applied_to(set.clone(), ["pay", "look"]);
        assert_eq!(same, set);
    }

    #[test]
    fn an_open_gate_leaves_nothing_of_itself_behind() {
        let changes = ToolPolicyChanges {
            confirm: Some(GateChange::Open),
            ..ToolPolicyChanges::default()
        };
        let expected = ToolPolicy {
            timeout: Some(Duration::from_secs(5)),
            ..ToolPolicy::default()
        };
        assert_eq!(changes.changed(gated_by_program()), expected);
        assert!(changes.decides_gate());
    }

    #[test]
    fn a_gate_by_data_keeps_the_hint_unless_it_brings_one() {
        let above = S::compares("args:cents", Comparison::Greater, 1000);
        let changes = ToolPolicyChanges {
            confirm_when: Some(Some(above.clone())),
            ..ToolPolicyChanges::default()
        };
        let changed = changes.changed(gated_by_program());
        assert!(changed.confirm && !changed.gate_terms.asks_program);
        assert_eq!(changed.gate_terms.when, Some(above));
        assert_eq!(changed.confirm_message.as_deref(), Some("Pay?"));
        let changes = ToolPolicyChanges {
            confirm: Some(GateChange::Closed {
                hint: Some("Really?".to_owned()),
            }),
            ..ToolPolicyChanges::default()
        };
        let again = changes.changed(changed);
        assert_eq!(again.gate_terms.when, None);
        assert_eq!(again.confirm_message.as_deref(), Some("Really?"));
    }

    #[test]
    fn tool_entry_overrides_defaults_and_can_lift_a_limit() {
        let defaults = ToolPolicyChanges {
            limit_per_session: Some(Some(2)),
            timeout: Some(Some(Duration::from_secs(1))),
            ..ToolPolicyChanges::default()
        };
        let own = ToolPolicyChanges {
            limit_per_session: Some(None),
            ..ToolPolicyChanges::default()
        };
        let changes = PolicyChanges {
            defaults,
            tools: [("pay".to_owned(), own)].into(),
            ..PolicyChanges::default()
        };
        let set = changes.applied_to(PolicySet::default(), ["pay", "look"]);
        assert_eq!(set.of("pay").limits, Limits::default());
        assert_eq!(set.of("pay").timeout, Some(Duration::from_secs(1)));
        assert_eq!(set.of("look").limits.per_session, Some(2));
        assert_eq!(set.of("unknown"), &ToolPolicy::default());
    }

    #[test]
    fn only_who_speaks_of_the_gate_decides_it() {
        let other = ToolPolicyChanges {
            timeout: Some(None),
            ..ToolPolicyChanges::default()
        };
        assert!(!other.decides_gate());
        let when = ToolPolicyChanges {
            confirm_when: Some(None),
            ..ToolPolicyChanges::default()
        };
        assert!(when.decides_gate());
    }
}
