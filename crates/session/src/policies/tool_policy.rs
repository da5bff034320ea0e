//! What holds for the calls of one tool, as data.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::condition::Condition;
use super::progress::Progress;
use super::stored_policy::Stored;
use crate::values::scheduling::FunctionResponseScheduling;

/// What holds for the calls of one tool.
///
/// Policies are data on the registered tool, so nothing that is wrapped around a tool can lose one. Stored, with what
/// is not set left out:
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
    /// How long one run may take, in whole milliseconds on record; waiting for a person does not count.
    pub timeout: Option<Duration>,
    /// Whether a call with the arguments of an earlier, successful one gets that one's result.
    pub cache: bool,
    /// How old such a result may be, by the recorded time; without it, as old as the session.
    pub cache_max_age: Option<Duration>,
    /// The gate: a person must agree before the tool runs.
    pub confirm: bool,
    /// What that person is told.
    pub confirm_message: Option<String>,
    /// After how long without an answer the call counts as denied; without it, never.
    pub confirm_expires_after: Option<Duration>,
    /// What must hold of the arguments and the state for the gate to hold; without it, it always does. What cannot be told
    /// counts as holding; see [`Condition::holds_or_unknown`].
    pub confirm_when: Option<Condition>,
    /// The program says of each call whether the gate holds, where the condition does not say so already. Its code is no
    /// data: the tool has it, and what it says is on record.
    pub confirm_asks_program: bool,
    /// The JSON Schema that the payload of a yes must fit; without it, an answer with a payload is
    /// refused.
    pub confirm_payload: Option<Value>,
    /// Whether a person may change the arguments with a yes, and what then.
    pub confirm_edits: Option<Edits>,
    /// The reason of a no stays on record, and the model is not told.
    pub confirm_keeps_reason: bool,
    /// What the model is told at once of a call that waits for a person, where such calls are acknowledged.
    pub acknowledgement: Option<Value>,
    /// What becomes of a call that the model makes again while the first one has not ended.
    pub repeats: Repeats,
    /// What becomes of a call that was cut off between its start and its result.
    pub in_doubt: InDoubt,
    /// Whether a cancellation by the model withdraws an open confirmation instead of only being noted on it.
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
    /// How long is waited before the second run, in milliseconds; twice as long before each further one.
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

/// How often a tool may be called. Calls that were refused do not count, nor those answered at once with an earlier result; one
/// that waited for an equal call and took its result does, because nobody knew whether it would run.
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
        confirm_expires_after: None,
        confirm_when: None,
        confirm_asks_program: false,
        confirm_payload: None,
        confirm_edits: None,
        confirm_keeps_reason: false,
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

    /// Both policies at once, whichever comes first: the shorter time limits, either gate, the hints joined, the more
    /// careful rule, the fewer runs, the smaller limits, the phases in which both hold, both conditions, the quieter
    /// scheduling.
    ///
    /// The default in-doubt rule counts as "nothing said", so it yields to the other one.
    #[must_use]
    pub fn merged(self, other: Self) -> Self {
        Self {
            timeout: less(self.timeout, other.timeout),
            cache: self.cache || other.cache,
            cache_max_age: less(self.cache_max_age, other.cache_max_age),
            // A gate that holds always needs nobody to say so.
            confirm_asks_program: (self.confirm && self.confirm_asks_program
                || other.confirm && other.confirm_asks_program)
                && !self.always_gated()
                && !other.always_gated(),
            confirm_when: match (self.confirm, other.confirm) {
                (true, true) if self.always_gated() || other.always_gated() => None,
                (true, true) => match (self.confirm_when, other.confirm_when) {
                    (Some(one), Some(two)) if one != two => Some(Condition::Or(vec![one, two])),
                    (one, two) => one.or(two),
                },
                (true, false) => self.confirm_when,
                (false, true) => other.confirm_when,
                (false, false) => None,
            },
            confirm_payload: match (self.confirm_payload, other.confirm_payload) {
                (Some(one), Some(two)) if one != two => Some(json!({"allOf": [one, two]})),
                (one, two) => one.or(two),
            },
            // Where both are gates, both must say it; otherwise it is said of the one gate that there is.
            confirm_edits: match (self.confirm_edits, other.confirm_edits) {
                (Some(one), Some(two)) => Some(one.max(two)),
                (one, two) => one.or(two).filter(|_| !(self.confirm && other.confirm)),
            },
            confirm_keeps_reason: self.confirm_keeps_reason || other.confirm_keeps_reason,
            confirm: self.confirm || other.confirm,
            confirm_message: match (self.confirm_message, other.confirm_message) {
                (Some(one), Some(two)) if one != two => Some(format!("{one}; {two}")),
                (one, two) => one.or(two),
            },
            confirm_expires_after: less(self.confirm_expires_after, other.confirm_expires_after),
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
            when: match (self.when, other.when) {
                (Some(one), Some(two)) if one != two => Some(Condition::And(vec![one, two])),
                (one, two) => one.or(two),
            },
        }
    }

    /// Whether the gate holds for every call.
    fn always_gated(&self) -> bool {
        self.confirm && self.confirm_when.is_none() && !self.confirm_asks_program
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

/// What becomes of a call that the model makes again, with equal arguments, while the first one has not ended.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeats {
    /// It is a call as any other.
    #[default]
    Run,
    /// It ends at once with the ticket of the first one, whose outcome comes with that one, and nothing runs for it.
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

    /// Of two rules the one under which less happens without a person: settle, then ask, then retry.
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

fn less<N: Ord>(one: Option<N>, other: Option<N>) -> Option<N> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
#[path = "tool_policy_tests.rs"]
mod tests;
