//! What the embedding program's own code says about calls and responses.
//!
//! A replay has none of that code, so what it said is an observation.

use serde::{Deserialize, Serialize};

use crate::json::Json;
use crate::values::actor::Actor;
use crate::values::id::Seq;

/// `hook_answered`: a hook of the agent has spoken about a call.
///
/// Of `on_tool_call`: with a `response` the call is answered by hand, without one it takes its
/// course, and with a `failure` it is refused. Of `before_tool_response`: the `response` takes the
/// place of the one that `of` issued. Of `confirm_when`, a gate that the program decides: whether a
/// person is asked; with a `failure` one is.
///
/// ```json
/// {"hook":"on_tool_call","call":5}
/// {"hook":"on_tool_call","call":5,"response":{"sky":"clear"},"by":{"name":"on_tool_call","authenticated_by":"embedder"}}
/// {"hook":"on_tool_call","call":5,"failure":"the hook on_tool_call panicked"}
/// {"hook":"before_tool_response","call":5,"of":8,"response":{"error":"not now"}}
/// {"hook":"confirm_when","call":5,"gated":true}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookAnswered {
    /// Which hook.
    pub hook: Hook,
    /// The call.
    pub call: Seq,
    /// The `response_issued` that it was asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<Seq>,
    /// What the model is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Json>,
    /// Why it said nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Whether the gate holds for the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gated: Option<bool>,
    /// Who answered the call in the tool's place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Actor>,
}

/// A hook through which calls and responses go.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hook {
    /// May answer a call before anything else looks at it.
    OnToolCall,
    /// May change what the model is told.
    BeforeToolResponse,
    /// Says whether a person is asked about a call.
    ConfirmWhen,
}

impl Hook {
    /// As the journal spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Hook::OnToolCall => "on_tool_call",
            Hook::BeforeToolResponse => "before_tool_response",
            Hook::ConfirmWhen => "confirm_when",
        }
    }
}
