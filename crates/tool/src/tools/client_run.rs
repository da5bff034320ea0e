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
}
