//! The phases of a conversation, as data.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::condition::Condition;

/// One phase of a conversation: its instruction, its tools, and its transitions.
///
/// ```json
/// {"name":"verify_identity","instruction":"Verify the caller.","tools":["verify_identity"],
///  "transitions":[{"to":"inform_debt","when":{"is_true":"identity_verified"}}]}
/// ```
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct PhaseDeclaration {
    /// The name of the phase.
    pub name: String,
    /// The instruction that the model receives on entry, in addition to the agent's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instruction: Option<String>,
    /// The tools that may be called in the phase. `None`: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<BTreeSet<String>>,
    /// The transitions to other phases. The first whose condition holds is taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transitions: Vec<Transition>,
}

/// A transition from one phase to another.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Transition {
    /// The phase that the transition leads to.
    pub to: String,
    /// The condition under which the transition is taken.
    pub when: Condition,
}
