//! The policies of an agent as one object: those of each tool, and those for all of them.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::on_settled::OnSettled;
use super::phase::PhaseDeclaration;
use super::response::ResponseShape;
use crate::policies::hooks::Hooks;
use crate::values::object::{ObjectHash, object_bytes};
use crate::values::{known_fields, milliseconds};

pub use super::gate_terms::{GateTerms, OptionalGateTerms};
pub use super::on_expiry::OnExpiry;
pub use super::progress::Progress;
pub use super::tool_policy::{Background, Edits, InDoubt, Limits, Repeats, Retry, ToolPolicy};

/// The policies of an agent, stored in the journal as one object.
///
/// ```
/// use std::time::Duration;
/// use recount_session::policy::{PolicySet, ToolPolicy};
///
/// let mut policies = PolicySet::default();
/// let timeout = Some(Duration::from_secs(10));
/// let ten_seconds = ToolPolicy { timeout, ..ToolPolicy::default() };
/// policies.tools.insert("search".to_owned(), ten_seconds);
/// assert_eq!(policies.to_bytes(), br#"{"tools":{"search":{"timeout_ms":10000}}}"#);
/// ```
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct PolicySet {
    /// The policies by tool name; a tool without an entry has the default policy.
    #[serde(default)]
    pub tools: BTreeMap<String, ToolPolicy>,
    /// The maximum number of calls of a session that run at the same time. `None`: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running_max: Option<u32>,
    /// The maximum number of calls in one message of the model. Further calls are refused, each
    /// with a response. `None`: no limit, as in sets stored before this field existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls_per_message_max: Option<u32>,
    /// The maximum number of open calls of a session. A further call is refused, with a response.
    /// `None`: no limit, as in sets stored before this field existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_calls_max: Option<u32>,
    /// The maximum number of open confirmation requests of a session. A further call that would
    /// wait for approval is refused, with a response. `None`: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_open_requests: Option<u32>,
    /// The maximum number of approvals by one person in any sixty seconds of recorded time. A
    /// further approval is refused, and its request stays open. Denials are never refused by it.
    /// `None`: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers_per_minute: Option<u32>,
    /// The time limit of inline calls whose tool sets none. `None`: no limit.
    #[serde(
        default,
        rename = "timeout_ms",
        with = "milliseconds",
        skip_serializing_if = "Option::is_none"
    )]
    pub timeout: Option<Duration>,
    /// The shape of the responses to the model.
    #[serde(default, skip_serializing_if = "ResponseShape::is_plain")]
    pub response: ResponseShape,
    /// True if a call that waits for approval is acknowledged at once, so that the model does not
    /// wait. The words are those of the tool's policy, or else
    /// `{"status":"awaiting_confirmation","tool":"refund"}`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub acknowledges: bool,
    /// The time for which a waiting call is not acknowledged, if its tool sets none. `None`: it is
    /// acknowledged at once.
    #[serde(
        default,
        rename = "acknowledge_after_ms",
        with = "milliseconds",
        skip_serializing_if = "Option::is_none"
    )]
    pub acknowledge_after: Option<Duration>,
    /// The delivery of an outcome while there is no connection.
    #[serde(default, skip_serializing_if = "OnSettled::is_park")]
    pub on_settled: OnSettled,
    /// The hooks that see calls and responses.
    #[serde(default, skip_serializing_if = "Hooks::are_none")]
    pub hooks: Hooks,
    /// The phases of the conversation, starting with the first. If empty, every tool is always
    /// available.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseDeclaration>,
}

impl PolicySet {
    /// Parses a stored set. Fields of later versions are ignored;
    /// [`unknown_field`](PolicySet::unknown_field) finds them.
    ///
    /// # Errors
    /// An error if the bytes are not the JSON of a policy set.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(bytes)
    }

    /// Returns the JSON Pointer of the first field of a stored set that this program does not know.
    ///
    /// A field that names a default is known. A free-form value, such as a schema, has any key.
    ///
    /// ```
    /// use recount_session::policy::PolicySet;
    ///
    /// let misspelt = br#"{"tools":{"pay":{"confrim":{}}}}"#;
    /// let found = PolicySet::unknown_field(misspelt)?;
    /// assert_eq!(found.as_deref(), Some("/tools/pay/confrim"));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    ///
    /// # Errors
    /// An error if the bytes are not the JSON of a policy set.
    pub fn unknown_field(bytes: &[u8]) -> Result<Option<String>, serde_json::Error> {
        known_fields::unknown_field::<Self>(bytes)
    }

    /// Returns the policy of a tool: its entry, or the default.
    #[must_use]
    pub fn of(&self, tool: &str) -> &ToolPolicy {
        self.tools.get(tool).unwrap_or(&ToolPolicy::DEFAULT)
    }

    /// The time for which a waiting call of the tool is not acknowledged.
    pub(crate) fn acknowledge_after(&self, tool: &str) -> Option<Duration> {
        self.of(tool).acknowledge_after.or(self.acknowledge_after)
    }

    /// True if a program that knows only rules 1 would overlook a limit or a wait of this set.
    pub(crate) fn needs_rules_2(&self) -> bool {
        let limited = self.max_open_requests.is_some() || self.answers_per_minute.is_some();
        limited
            || self.acknowledge_after.is_some()
            || self.tools.values().any(ToolPolicy::needs_rules_2)
    }

    /// Returns the phase of this name.
    #[must_use]
    pub fn phase(&self, name: &str) -> Option<&PhaseDeclaration> {
        self.phases.iter().find(|phase| phase.name == name)
    }

    /// The set as its stored form reads back: times are in whole milliseconds.
    #[must_use]
    pub fn as_stored(self) -> Self {
        Self::from_bytes(&self.to_bytes()).unwrap_or(self)
    }

    /// Returns the stored form: canonical JSON.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        object_bytes(self)
    }

    /// Returns the hash of the stored form.
    #[must_use]
    pub fn hash(&self) -> ObjectHash {
        ObjectHash::of(&self.to_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policies::condition::S;
    use crate::policies::phase::Transition;

    #[test]
    fn a_full_set_reads_back() -> Result<(), serde_json::Error> {
        let phase = PhaseDeclaration {
            name: "verify".to_owned(),
            instruction: Some("Verify.".to_owned()),
            tools: Some(["a".to_owned()].into()),
            transitions: vec![Transition {
                to: "pay".to_owned(),
                when: S::is_true("verified"),
            }],
        };
        let set = PolicySet {
            tools: [("a".to_owned(), ToolPolicy::default())].into(),
            running_max: Some(4),
            calls_per_message_max: Some(128),
            open_calls_max: Some(1_000),
            max_open_requests: Some(20),
            answers_per_minute: Some(6),
            timeout: Some(Duration::from_secs(30)),
            response: ResponseShape::Envelope,
            acknowledges: true,
            acknowledge_after: Some(Duration::from_secs(10)),
            on_settled: OnSettled::Connect,
            hooks: Hooks {
                on_tool_call: true,
                before_tool_response: false,
            },
            phases: vec![phase],
        };
        assert_eq!(
            String::from_utf8_lossy(&set.to_bytes()),
            concat!(
                r#"{"acknowledge_after_ms":10000,"acknowledges":true,"#,
                r#""answers_per_minute":6,"calls_per_message_max":128,"#,
                r#""hooks":{"on_tool_call":true},"max_open_requests":20,"#,
                r#""on_settled":"connect","open_calls_max":1000,"phases":["#,
                r#"{"instruction":"Verify.","name":"verify","tools":["a"],"#,
                r#""transitions":[{"to":"pay","when":{"is_true":"verified"}}]}],"#,
                r#""response":"envelope","running_max":4,"timeout_ms":30000,"tools":{"a":{}}}"#
            )
        );
        assert_eq!(PolicySet::from_bytes(&set.to_bytes())?, set);
        Ok(())
    }

    #[test]
    fn fields_of_a_later_version_are_passed_over() -> Result<(), serde_json::Error> {
        let read = PolicySet::from_bytes(br#"{"tools":{"a":{"brew":true,"confirm":{}}},"x":1}"#)?;
        assert!(read.of("a").confirm);
        assert_eq!(read.of("absent"), &ToolPolicy::default());
        Ok(())
    }

    #[test]
    fn only_non_default_settings_are_stored() -> Result<(), serde_json::Error> {
        let written = |set: &PolicySet| String::from_utf8_lossy(&set.to_bytes()).into_owned();
        assert_eq!(written(&PolicySet::default()), r#"{"tools":{}}"#);
        let hooked = PolicySet {
            hooks: Hooks {
                on_tool_call: false,
                before_tool_response: true,
            },
            ..PolicySet::default()
        };
        let text = r#"{"hooks":{"before_tool_response":true},"tools":{}}"#;
        assert_eq!(written(&hooked), text);
        assert_eq!(PolicySet::from_bytes(text.as_bytes())?, hooked);
        Ok(())
    }

    #[test]
    fn a_set_in_force_is_the_one_that_reads_back() {
        let set = PolicySet {
            timeout: Some(Duration::from_micros(1_500)),
            running_max: Some(4),
            ..PolicySet::default()
        };
        let stored = PolicySet {
            timeout: Some(Duration::from_millis(2)),
            ..set.clone()
        };
        assert_eq!(set.as_stored(), stored);
    }
}
