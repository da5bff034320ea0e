//! What holds for the calls of one tool, as data.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::condition::Condition;
use super::gate_terms::OptionalGateTerms;
use super::progress::Progress;
use super::stored_policy::Stored;
use crate::values::scheduling::FunctionResponseScheduling;

/// What holds for the calls of one tool.
///
/// Policies are data on the registered tool, so nothing that is wrapped around a tool can lose one.
/// Stored, with what is not set left out:
///
/// ```json
/// {"timeout_ms":10000,"cache":{"max_age_ms":60000},"confirm":{"hint":"Pay?","expires_after_ms":600000},
///  "in_doubt":"retry","withdraw_on_cancel":true,"background":{"scheduling":"SILENT"},
///  "retry":{"attempts_max":3,"backoff_ms":200},"limits":{"per_session":10,"per_minute":3},
///  "phases":["negotiate"],"when":{"is_true":"identity_verified"}}
/// ```
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct ToolPolicy {
    /// How long one run may take, in whole milliseconds on record; waiting for a person does not
    /// count.
    pub timeout: Option<Duration>,
    /// Whether a call with the arguments of an earlier, successful one gets that one's result.
    pub cache: bool,
    /// How old such a result may be, by the recorded time; without it, as old as the session.
    pub cache_max_age: Option<Duration>,
    /// The gate: a person must agree before the tool runs.
    pub confirm: bool,
    /// What that person is told.
    pub confirm_message: Option<String>,
    /// What else holds of the gate; none is the same as the default.
    pub gate_terms: OptionalGateTerms,
    /// What the model is told at once of a call that waits for a person, where such calls are
    /// acknowledged.
    pub acknowledgement: Option<Value>,
    /// What becomes of a call that the model makes again while the first one has not ended.
    pub repeats: Repeats,
    /// What becomes of a call that was cut off between its start and its result.
    pub in_doubt: InDoubt,
    /// Whether a cancellation by the model withdraws an open confirmation instead of only being
    /// noted on it.
    pub withdraw_on_cancel: bool,
    /// Set once a result from outside whose `status` is `pending` or `in_progress` is news of the
    /// call and no end.
    pub interim_status: bool,
    /// The effect of the progress that a run reports; without it, none.
    pub progress: Option<Progress>,
    /// The model does not wait for the result.
    pub background: Option<Background>,
    /// A failed run is followed by another; only of an idempotent tool.
    pub retry: Option<Retry>,
    /// How often it may be called.
    pub limits: Limits,
    /// The phases in which it may be called; without it, all whose own list does not leave it out.
    pub phases: Option<BTreeSet<String>>,
    /// What must hold of the state for it to be called.
    pub when: Option<Condition>,
}

/// How a call runs for which the model does not wait.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Background {
    /// When the model takes up the result; `WHEN_IDLE` unless said otherwise.
    #[serde(default)]
    pub scheduling: FunctionResponseScheduling,
}

/// How often a failed call is run again, and how long is waited before.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Retry {
    /// How many runs there may be, the first one counted.
    pub attempts_max: u32,
    /// How long is waited before the second run, in milliseconds; twice as long before each further
    /// one.
    pub backoff_ms: u64,
}

impl Retry {
    /// How long is waited after the run number `attempt`.
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

/// How often a tool may be called. Calls that were refused do not count, nor those answered at once
/// with an earlier result; one that waited for an equal call and took its result does, because
/// nobody knew whether it would run.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Limits {
    /// In the whole session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_session: Option<u32>,
    /// In any sixty seconds of recorded time.
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

    /// A gate with a hint; an empty one is none.
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

    /// Both policies at once, whichever comes first: the shorter time limits, either gate, the
    /// hints joined, the more careful rule, the fewer runs, the smaller limits, the phases in which
    /// both hold, both conditions, the quieter scheduling.
    ///
    /// The default in-doubt rule counts as "nothing said", so it yields to the other one.
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

    /// Whether the tool may be started again with the same idempotency key.
    #[must_use]
    pub fn is_idempotent(&self) -> bool {
        match self.in_doubt {
            InDoubt::Retry => true,
            InDoubt::Ask | InDoubt::SettleUnknown => false,
        }
    }
}

/// What a person may do to the arguments with a yes.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Edits {
    /// Change them; the call runs with what that person wrote.
    Allowed,
    /// Change them; the call is asked about anew as it is then.
    ApprovedAnew,
}

/// What becomes of a call that the model makes again, with equal arguments, while the first one has
/// not ended.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeats {
    /// It is a call as any other.
    #[default]
    Run,
    /// It ends at once with the ticket of the first one, whose outcome comes with that one, and
    /// nothing runs for it.
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

/// What becomes of a call that was cut off between its start and its result.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InDoubt {
    /// Run it again with the same idempotency key: the tool is declared idempotent.
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

    /// Of two rules the one under which less happens without a person: settle, then ask, then
    /// retry.
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

/// The value that there is, or both together where they differ.
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
