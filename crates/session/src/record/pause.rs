//! Observations of the stop switch: pauses, and their ends.

use serde::{Deserialize, Serialize};

use super::reconnection::Start;
use crate::values::actor::Actor;
use crate::values::id::Seq;

/// The rules number that a program must know to read a pause. A program that overlooked it would
/// start what the pause holds.
pub const RULES_OF_PAUSES: u32 = 2;

/// The calls that a pause holds.
///
/// ```json
/// "session"
/// {"tool":"refund"}
/// {"agent":"support"}
/// "everything"
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseScope {
    /// All calls of this session.
    Session,
    /// The calls of one tool in this session.
    Tool(String),
    /// All calls in all sessions of an agent.
    Agent(String),
    /// All calls of the journal.
    Everything,
}

impl PauseScope {
    /// True if the pause holds more than one session. The journal's own stream records it, and each
    /// session that it holds observes it.
    ///
    /// ```
    /// use recount_session::PauseScope;
    /// assert!(PauseScope::Everything.is_of_journal());
    /// assert!(!PauseScope::Tool("refund".to_owned()).is_of_journal());
    /// ```
    #[must_use]
    pub fn is_of_journal(&self) -> bool {
        match self {
            PauseScope::Session | PauseScope::Tool(_) => false,
            PauseScope::Agent(_) | PauseScope::Everything => true,
        }
    }
}

impl std::fmt::Display for PauseScope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PauseScope::Session => f.write_str("the session"),
            PauseScope::Tool(tool) => write!(f, "the tool {tool:?} in the session"),
            PauseScope::Agent(agent) => write!(f, "the agent {agent:?}"),
            PauseScope::Everything => f.write_str("everything"),
        }
    }
}

/// `paused`: until `unpaused`, no call in the scope starts. Running calls continue.
///
/// ```json
/// {"scope":"session","reason":"wrong prices","by":{"name":"ada","authenticated_by":"os_user"},
///  "rules":2}
/// {"scope":{"tool":"refund"},"by":{"name":"ada","authenticated_by":"os_user"},
///  "not_begun":[{"call":5,"attempt":1}],"rules":2}
/// {"scope":"everything","reason":"the bank is down",
///  "by":{"name":"ada","authenticated_by":"token"},"journal_record":7,"rules":2}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paused {
    /// The calls that the pause holds.
    pub scope: PauseScope,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The actor that paused.
    pub by: Actor,
    /// The record of the pause in the journal's own stream, if it holds more than one session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal_record: Option<Seq>,
    /// The starts on record whose tool had not begun to run. They are taken back and do not count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_begun: Vec<Start>,
    /// The rules number that a program must know to serve the session from this record on.
    pub rules: u32,
}

/// `unpaused`: the pause of this scope ended. Calls that no other pause holds may start.
///
/// ```json
/// {"scope":"session","reason":"fixed","by":{"name":"ada","authenticated_by":"os_user"},"rules":2}
/// {"scope":"everything","by":{"name":"ada","authenticated_by":"token"},"journal_record":9,
///  "rules":2}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unpaused {
    /// The scope of the pause.
    pub scope: PauseScope,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The actor that ended the pause.
    pub by: Actor,
    /// The record of the end in the journal's own stream, if the pause held more than one session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal_record: Option<Seq>,
    /// The rules number that a program must know to serve the session from this record on.
    pub rules: u32,
}
