//! The hooks of an agent, as its policies list them.

use serde::{Deserialize, Serialize};

/// The hooks of an agent, as its policies list them.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Hooks {
    /// True if calls are shown to the program before any other check.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_tool_call: bool,
    /// True if responses are shown to the program before they are sent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub before_tool_response: bool,
}

impl Hooks {
    pub(super) fn are_none(&self) -> bool {
        !self.on_tool_call && !self.before_tool_response
    }
}
