//! Tools that clients run, as tools with a policy.

use std::sync::Arc;

use serde_json::Value;

use super::policy_tool::{Body, PolicyTool};
use crate::kinds::client_tool::ClientTool;

impl PolicyTool {
    /// Creates a tool that clients run; see [`T::client`](crate::T::client).
    #[must_use]
    pub fn client(
        name: impl Into<String>,
        description: impl Into<String>,
        parameters: Option<Value>,
    ) -> Self {
        let tool = ClientTool {
            name: name.into(),
            description: description.into(),
            parameters,
        };
        Self::of(Body::Client(Arc::new(tool)), None)
    }

    /// Returns the whole tool as text, if it runs at a client and no code decides about it. Tools
    /// with the same text are the same.
    #[must_use]
    #[doc(hidden)]
    pub fn text_of_declaration(&self) -> Option<String> {
        let is_text_alone = matches!(self.body, Body::Client(_))
            && self.predicates.is_empty()
            && self.rule.is_none()
            && self.categories.is_empty()
            && !self.long_running
            && !self.inner
            && !self.came_with_agent;
        // Unlike JSON, this form has the whole of each time.
        let policy = format!("{:?}", self.policy);
        let parts = (self.behavior, self.declaration(), policy);
        is_text_alone
            .then(|| serde_json::to_string(&parts).ok())
            .flatten()
    }
}
