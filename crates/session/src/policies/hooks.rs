//! The hooks of an agent, as its policies name them.

use serde::{Deserialize, Serialize};

/// Which hooks an agent has, as its policies say it.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Hooks {
    /// Calls are shown to the program before anything else looks at them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_tool_call: bool,
    /// Responses are shown to the program before they leave.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub before_tool_response: bool,
}

impl Hooks {
    pub(super) fn are_none(&self) -> bool {
        !self.on_tool_call && !self.before_tool_response
    }
}
