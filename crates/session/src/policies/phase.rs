//! The phases of a conversation, as data.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::condition::Condition;

/// One phase of a conversation: what the model is told in it, which tools it may call, and where it
/// leads.
///
/// ```json
/// {"name":"verify_identity","instruction":"Verify the caller.","tools":["verify_identity"],
///  "transitions":[{"to":"inform_debt","when":{"is_true":"identity_verified"}}]}
/// ```
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct PhaseDeclaration {
    /// Its name.
    pub name: String,
    /// What the model is told when it is entered, beside the agent's own instruction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instruction: Option<String>,
    /// The tools that may be called in it; absent = all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<BTreeSet<String>>,
    /// Where it leads; the first whose condition holds is taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transitions: Vec<Transition>,
}

/// A way out of a phase.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Transition {
    /// The phase it leads to.
    pub to: String,
    /// When it is taken.
    pub when: Condition,
}
