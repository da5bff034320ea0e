//! Policies as data: what holds for the calls of a tool, whatever the tool is made of.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::object::{ObjectHash, object_bytes};

/// The policies of an agent's tools; stored in the journal as one object.
///
/// ```
/// use recount::session::policy::{PolicySet, ToolPolicy};
///
/// let mut policies = PolicySet::default();
/// policies.tools.insert("search".to_owned(), ToolPolicy { timeout_ms: Some(10_000), ..ToolPolicy::default() });
/// assert_eq!(policies.to_bytes(), br#"{"tools":{"search":{"timeout_ms":10000}}}"#);
/// ```
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct PolicySet {
    /// The policies by tool name; a tool without an entry has the default policy.
    #[serde(default)]
    pub tools: BTreeMap<String, ToolPolicy>,
    /// How many calls of a session may run at the same time; without it, any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running_max: Option<u32>,
}

impl PolicySet {
    /// Reads a stored set; fields of later versions are passed over.
    ///
    /// # Errors
    /// The bytes are not the JSON of a policy set.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(bytes)
    }

    /// The policy of a tool: its entry, or the default one.
    #[must_use]
    pub fn of(&self, tool: &str) -> &ToolPolicy {
        self.tools.get(tool).unwrap_or(&ToolPolicy::DEFAULT)
    }

    /// The stored form: canonical JSON.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        object_bytes(self)
    }

    /// The address of the stored form.
    #[must_use]
    pub fn hash(&self) -> ObjectHash {
        ObjectHash::of(&self.to_bytes())
    }
}

/// What holds for the calls of one tool.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct ToolPolicy {
    /// How long one run may take, in milliseconds; waiting for a person does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The gate: present when a person must agree before the tool runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm: Option<Confirm>,
    /// What becomes of a call that was cut off between its start and its result.
    #[serde(default, skip_serializing_if = "InDoubt::is_settle_unknown")]
    pub in_doubt: InDoubt,
    /// Whether a cancellation by the model withdraws an open confirmation instead of only being noted on it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withdraw_on_cancel: bool,
}

impl ToolPolicy {
    const DEFAULT: Self = Self {
        timeout_ms: None,
        confirm: None,
        in_doubt: InDoubt::SettleUnknown,
        withdraw_on_cancel: false,
    };

    /// Both policies at once: the shorter time limit, either gate, the hints joined, the more careful rule.
    ///
    /// The default in-doubt rule counts as "nothing said", so it yields to the other one.
    #[must_use]
    pub fn merged(self, other: Self) -> Self {
        Self {
            timeout_ms: shorter(self.timeout_ms, other.timeout_ms),
            confirm: match (self.confirm, other.confirm) {
                (Some(one), Some(two)) => Some(one.merged(two)),
                (one, two) => one.or(two),
            },
            in_doubt: match (self.in_doubt, other.in_doubt) {
                (InDoubt::SettleUnknown, rule) | (rule, InDoubt::SettleUnknown) => rule,
                (one, two) => one.more_careful(two),
            },
            withdraw_on_cancel: self.withdraw_on_cancel || other.withdraw_on_cancel,
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

/// A gate before a tool: a person must agree to each call.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Confirm {
    /// What the person is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// After how many milliseconds without an answer the call counts as denied; without it, never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_after_ms: Option<u64>,
}

impl Confirm {
    /// A gate with a hint; an empty one is none.
    #[must_use]
    pub fn with_hint(hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()).filter(|hint| !hint.is_empty()),
            expires_after_ms: None,
        }
    }

    fn merged(self, other: Self) -> Self {
        Self {
            hint: match (self.hint, other.hint) {
                (Some(one), Some(two)) if one != two => Some(format!("{one}; {two}")),
                (one, two) => one.or(two),
            },
            expires_after_ms: shorter(self.expires_after_ms, other.expires_after_ms),
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

    fn is_settle_unknown(&self) -> bool {
        match self {
            Self::SettleUnknown => true,
            Self::Retry | Self::Ask => false,
        }
    }
}

fn shorter(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> ToolPolicy {
        ToolPolicy {
            timeout_ms: Some(50),
            confirm: Some(Confirm {
                hint: Some("sure?".to_owned()),
                expires_after_ms: Some(9),
            }),
            in_doubt: InDoubt::Ask,
            withdraw_on_cancel: true,
        }
    }

    #[test]
    fn an_absent_field_is_not_written_and_a_full_set_reads_back() -> Result<(), serde_json::Error> {
        let mut set = PolicySet {
            running_max: Some(4),
            ..PolicySet::default()
        };
        set.tools.insert("a".to_owned(), ToolPolicy::default());
        set.tools.insert("b".to_owned(), full());
        assert_eq!(
            String::from_utf8_lossy(&set.to_bytes()),
            r#"{"running_max":4,"tools":{"a":{},"b":{"confirm":{"expires_after_ms":9,"hint":"sure?"},"in_doubt":"ask","timeout_ms":50,"withdraw_on_cancel":true}}}"#
        );
        assert_eq!(PolicySet::from_bytes(&set.to_bytes())?, set);
        Ok(())
    }

    #[test]
    fn fields_of_a_later_version_are_passed_over() -> Result<(), serde_json::Error> {
        let read = PolicySet::from_bytes(br#"{"tools":{"a":{"cache":true,"confirm":{}}},"x":1}"#)?;
        assert_eq!(read.of("a").confirm, Some(Confirm::default()));
        assert_eq!(read.of("absent"), &ToolPolicy::default());
        Ok(())
    }

    #[test]
    fn merging_takes_the_shorter_time_either_gate_and_both_hints() {
        let other = ToolPolicy {
            timeout_ms: Some(70),
            confirm: Some(Confirm::with_hint("really?")),
            in_doubt: InDoubt::Retry,
            ..ToolPolicy::default()
        };
        let merged = full().merged(other);
        assert_eq!(merged.timeout_ms, Some(50));
        assert_eq!(
            merged.confirm,
            Some(Confirm {
                hint: Some("sure?; really?".to_owned()),
                expires_after_ms: Some(9)
            })
        );
        assert_eq!(merged.in_doubt, InDoubt::Ask);
        assert!(merged.withdraw_on_cancel);
    }

    #[test]
    fn merging_with_nothing_or_with_itself_changes_nothing() {
        assert_eq!(full().merged(ToolPolicy::default()), full());
        assert_eq!(ToolPolicy::default().merged(full()), full());
        assert_eq!(full().merged(full()), full());
    }

    #[test]
    fn the_stored_name_of_a_rule_is_its_name_in_code() -> Result<(), serde_json::Error> {
        for rule in [InDoubt::Retry, InDoubt::Ask, InDoubt::SettleUnknown] {
            assert_eq!(serde_json::to_value(rule)?, rule.as_str());
        }
        Ok(())
    }
}
