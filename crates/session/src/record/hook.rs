//! Answers of the embedding program's hooks about calls and responses.
//!
//! A replay does not have the hooks' code, so their answers are observations.

use serde::{Deserialize, Serialize};

use crate::json::Json;
use crate::values::actor::Actor;
use crate::values::id::Seq;

/// `hook_answered`: the answer of an agent's hook about a call.
///
/// `on_tool_call`: with a `response`, the hook answers the call; without one, the call continues;
/// with a `failure`, the call is refused. `before_tool_response`: the `response` replaces the one
/// that `of` issued. `confirm_when`, a gate that the program decides: `gated` is the verdict, and
/// with a `failure` an approver is asked.
///
/// ```json
/// {"hook":"on_tool_call","call":5}
/// {"hook":"on_tool_call","call":5,"response":{"sky":"clear"},
///  "by":{"name":"on_tool_call","authenticated_by":"embedder"}}
/// {"hook":"on_tool_call","call":5,"failure":"the hook on_tool_call panicked"}
/// {"hook":"before_tool_response","call":5,"of":8,"response":{"error":"not now"}}
/// {"hook":"confirm_when","call":5,"gated":true}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookAnswered {
    /// The hook.
    pub hook: Hook,
    /// The call.
    pub call: Seq,
    /// The `response_issued` that the hook was asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<Seq>,
    /// The response for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Json>,
    /// The reason why the hook gave no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// True if the gate applies to the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gated: Option<bool>,
    /// The actor that answered the call in the tool's place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Actor>,
}

/// A hook that sees calls and responses.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hook {
    /// May answer a call before any other check.
    OnToolCall,
    /// May change the response to the model.
    BeforeToolResponse,
    /// Decides whether an approver is asked about a call.
    ConfirmWhen,
}

impl Hook {
    /// The name, as the journal spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Hook::OnToolCall => "on_tool_call",
            Hook::BeforeToolResponse => "before_tool_response",
            Hook::ConfirmWhen => "confirm_when",
        }
    }
}
