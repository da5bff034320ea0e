//! The policy of one tool, as data.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::condition::Condition;
use super::gate_terms::OptionalGateTerms;
use super::progress::Progress;
use super::stored_policy::Stored;
use crate::values::scheduling::FunctionResponseScheduling;

/// The policy of one tool.
///
/// Policies are data on the registered tool, so a wrapper around a tool cannot lose them. The
/// stored form leaves default values out:
///
/// ```json
/// {"timeout_ms":10000,"cache":{"max_age_ms":60000},
///  "confirm":{"hint":"Pay?","expires_after_ms":600000,"approvers":[{"roles":["finance"]}],
///             "not_requester":true,"quorum":2},
///  "in_doubt":"retry","withdraw_on_cancel":true,"background":{"scheduling":"SILENT"},
///  "retry":{"attempts_max":3,"backoff_ms":200},"limits":{"per_session":10,"per_minute":3},
///  "phases":["negotiate"],"when":{"is_true":"identity_verified"}}
/// ```
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct ToolPolicy {
    /// The time limit of one run, recorded in whole milliseconds. The wait for an approver does not
    /// count.
    pub timeout: Option<Duration>,
    /// True if a call reuses the result of an earlier successful call with equal arguments.
    pub cache: bool,
    /// The maximum age of a reused result, by the recorded time. `None`: the age of the session.
    pub cache_max_age: Option<Duration>,
    /// True if a person must approve before the tool runs. This is the gate.
    pub confirm: bool,
    /// The hint for the approver.
    pub confirm_message: Option<String>,
    /// The other terms of the gate. Absent terms equal the default.
    pub gate_terms: OptionalGateTerms,
    /// The response that the model receives at once for a call that waits for approval, if such
    /// calls are acknowledged.
    pub acknowledgement: Option<Value>,
    /// The time for which a waiting call is not acknowledged. It begins with the question or the
    /// pause. `None`: the time of the policy set.
    pub acknowledge_after: Option<Duration>,
    /// The rule for a call that the model makes again while the first one has not ended.
    pub repeats: Repeats,
    /// The rule for a call that was cut off between its start and its result.
    pub in_doubt: InDoubt,
    /// True if a cancellation by the model withdraws an open confirmation request. Otherwise it is
    /// only noted on the request.
    pub withdraw_on_cancel: bool,
    /// True if a supplied result whose `status` is `pending` or `in_progress` is news and does not
    /// end the call.
    pub interim_status: bool,
    /// The effect of the progress that a run reports. `None`: no effect.
    pub progress: Option<Progress>,
    /// The setting for calls that the model does not wait for. `None`: the model waits.
    pub background: Option<Background>,
    /// The retries of a failed run; only for idempotent tools.
    pub retry: Option<Retry>,
    /// The maximum number of calls.
    pub limits: Limits,
    /// The phases in which the tool may be called. `None`: every phase whose own list allows it.
    pub phases: Option<BTreeSet<String>>,
    /// The condition on the state under which the tool may be called.
    pub when: Option<Condition>,
}

/// The setting for calls that the model does not wait for.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Background {
    /// The time at which the model uses the result. The default is `WHEN_IDLE`.
    #[serde(default)]
    pub scheduling: FunctionResponseScheduling,
}

/// The number of retries, and the wait before each.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Retry {
    /// The maximum number of runs, including the first.
    pub attempts_max: u32,
    /// The wait before the second run, in milliseconds. It doubles before each further run.
    pub backoff_ms: u64,
}

impl Retry {
    /// Returns the wait after run number `attempt`, in milliseconds.
    ///
    /// ```
    /// use recount_session::policy::Retry;
    /// let retry = Retry { attempts_max: 4, backoff_ms: 100 };
    /// assert_eq!([1, 2, 3].map(|attempt| retry.wait_ms(attempt)), [100, 200, 400]);
    /// ```
    #[must_use]
    pub fn wait_ms(&self, attempt: u32) -> u64 {
        let doublings = attempt.saturating_sub(1).min(63);
        self.backoff_ms.saturating_mul(1 << doublings)
    }
}

/// The maximum number of calls of a tool.
///
/// Refused calls do not count, nor do calls answered at once with an earlier result. A call that
/// waited for an equal call and took its result counts, because the verdict came before it was
/// known whether the call would run.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Limits {
    /// The limit for the whole session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_session: Option<u32>,
    /// The limit for any sixty seconds of recorded time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_minute: Option<u32>,
}

impl Limits {
    pub(crate) fn is_none(&self) -> bool {
        *self == Limits::default()
    }
}

impl ToolPolicy {
    pub(super) const DEFAULT: Self = Self {
        timeout: None,
        cache: false,
        cache_max_age: None,
        confirm: false,
        confirm_message: None,
        gate_terms: OptionalGateTerms::NONE,
        acknowledgement: None,
        acknowledge_after: None,
        repeats: Repeats::Run,
        in_doubt: InDoubt::SettleUnknown,
        withdraw_on_cancel: false,
        interim_status: false,
        progress: None,
        background: None,
        retry: None,
        limits: Limits {
            per_session: None,
            per_minute: None,
        },
        phases: None,
        when: None,
    };

    /// A policy with a gate and a hint. An empty hint counts as none.
    ///
    /// ```
    /// use recount_session::ToolPolicy;
    /// let gate = ToolPolicy::gate("Pay this?");
    /// assert!(gate.confirm && gate.confirm_message.as_deref() == Some("Pay this?"));
    /// ```
    #[must_use]
    pub fn gate(hint: impl Into<String>) -> Self {
        Self {
            confirm: true,
            confirm_message: Some(hint.into()).filter(|hint| !hint.is_empty()),
            ..Self::DEFAULT
        }
    }

    /// Merges two policies.
    ///
    /// The result has the shorter time limits, either gate, the joined hints, the more careful
    /// rule, the fewer runs, the smaller limits, the common phases, both conditions, and the
    /// quieter scheduling. An answer must satisfy the terms of both gates.
    ///
    /// The default in-doubt rule counts as not set, so the other rule replaces it.
    #[must_use]
    pub fn merged(self, other: Self) -> Self {
        let [terms, others] =
            [self.gate_terms, other.gate_terms].map(OptionalGateTerms::into_terms);
        let gate_terms = terms.merged(self.confirm, others, other.confirm);
        Self {
            timeout: less(self.timeout, other.timeout),
            cache: self.cache || other.cache,
            cache_max_age: less(self.cache_max_age, other.cache_max_age),
            confirm: self.confirm || other.confirm,
            confirm_message: joined(self.confirm_message, other.confirm_message, |one, two| {
                format!("{one}; {two}")
            }),
            gate_terms: gate_terms.into(),
            acknowledgement: self.acknowledgement.or(other.acknowledgement),
            acknowledge_after: less(self.acknowledge_after, other.acknowledge_after),
            repeats: self.repeats.max(other.repeats),
            in_doubt: match (self.in_doubt, other.in_doubt) {
                (InDoubt::SettleUnknown, rule) | (rule, InDoubt::SettleUnknown) => rule,
                (one, two) => one.more_careful(two),
            },
            withdraw_on_cancel: self.withdraw_on_cancel || other.withdraw_on_cancel,
            interim_status: self.interim_status || other.interim_status,
            progress: match (self.progress, other.progress) {
                (Some(one), Some(two)) => Some(one.min(two)),
                (one, two) => one.or(two),
            },
            background: match (self.background, other.background) {
                (Some(one), Some(two)) => Some(Background {
                    scheduling: one.scheduling.min(two.scheduling),
                }),
                (one, two) => one.or(two),
            },
            retry: match (self.retry, other.retry) {
                (Some(one), Some(two)) => Some(Retry {
                    attempts_max: one.attempts_max.min(two.attempts_max),
                    backoff_ms: one.backoff_ms.max(two.backoff_ms),
                }),
                (one, two) => one.or(two),
            },
            limits: Limits {
                per_session: less(self.limits.per_session, other.limits.per_session),
                per_minute: less(self.limits.per_minute, other.limits.per_minute),
            },
            phases: match (self.phases, other.phases) {
                (Some(one), Some(two)) => Some(one.intersection(&two).cloned().collect()),
                (one, two) => one.or(two),
            },
            when: joined(self.when, other.when, |one, two| {
                Condition::And(vec![one, two])
            }),
        }
    }

    /// True if a program that knows only rules 1 would let calls run that this policy holds, would
    /// acknowledge them too early, or would deny calls that it lets run.
    pub(crate) fn needs_rules_2(&self) -> bool {
        let terms = &self.gate_terms;
        let limits = terms.max_open_requests.is_some();
        if self.acknowledge_after.is_some() {
            return true;
        }
        let answers = terms.restrict_answers() || terms.may_allow_for_session;
        self.confirm && (answers || limits || terms.on_expiry.is_some())
    }

    /// True if the tool may be started again with the same idempotency key.
    #[must_use]
    pub fn is_idempotent(&self) -> bool {
        match self.in_doubt {
            InDoubt::Retry => true,
            InDoubt::Ask | InDoubt::SettleUnknown => false,
        }
    }
}

/// The right of an approver to change the arguments.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Edits {
    /// The approver may change them, and the call runs with the changed arguments.
    Allowed,
    /// The approver may change them, and the changed call needs a new approval.
    ApprovedAnew,
}

/// The rule for a call that the model makes again, with equal arguments, while the first one has
/// not ended.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeats {
    /// The call is handled like any other.
    #[default]
    Run,
    /// The call ends at once with the ticket of the first one and does not run. The outcome comes
    /// with the first call.
    PendingTicket,
}

impl Repeats {
    pub(super) fn is_run(&self) -> bool {
        match self {
            Self::Run => true,
            Self::PendingTicket => false,
        }
    }
}

/// The rule for a call that was cut off between its start and its result.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InDoubt {
    /// Run the tool again with the same idempotency key. The tool is declared idempotent.
    Retry,
    /// Ask a person what happened.
    Ask,
    /// Tell the model that the outcome is unknown.
    #[default]
    SettleUnknown,
}

impl InDoubt {
    /// The name of the rule as it is stored.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Ask => "ask",
            Self::SettleUnknown => "settle_unknown",
        }
    }

    /// Returns the rule that does less without a person: settle, then ask, then retry.
    #[must_use]
    pub fn more_careful(self, other: Self) -> Self {
        match (self, other) {
            (Self::SettleUnknown, _) | (_, Self::SettleUnknown) => Self::SettleUnknown,
            (Self::Ask, _) | (_, Self::Ask) => Self::Ask,
            (Self::Retry, Self::Retry) => Self::Retry,
        }
    }

    pub(super) fn is_settle_unknown(&self) -> bool {
        match self {
            Self::SettleUnknown => true,
            Self::Retry | Self::Ask => false,
        }
    }
}

/// Returns the only value, or the combination of two different values.
pub(super) fn joined<V: PartialEq>(
    one: Option<V>,
    other: Option<V>,
    both: impl FnOnce(V, V) -> V,
) -> Option<V> {
    match (one, other) {
        (Some(one), Some(other)) if one != other => Some(both(one, other)),
        (one, other) => one.or(other),
    }
}

pub(super) fn less<N: Ord>(one: Option<N>, other: Option<N>) -> Option<N> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
#[path = "tool_policy_tests.rs"]
mod tests;
