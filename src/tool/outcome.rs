//! How one run of a tool ends.

use serde_json::Value;

use super::ToolError;
use crate::session::FunctionResponseScheduling;

/// How one run of a tool ends.
///
/// A function gives one from [`invoke`](super::ToolFunction::invoke); of what its `call` returns it is made with `into`:
///
/// ```
/// use recount::session::FunctionResponseScheduling;
/// use recount::tool::{ToolError, ToolOutcome};
/// use serde_json::json;
///
/// let failed = ToolOutcome::from(Err(ToolError::InvalidArgs("no city".into())));
/// let urgent = ToolOutcome::Scheduled(json!({"alarm": true}), FunctionResponseScheduling::Interrupt);
/// assert_ne!(failed, urgent);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum ToolOutcome {
    /// It returned its result; `null` is a result, too.
    Returned(Value),
    /// It returned its result and says when the model takes it up, whatever its policy says. Of a long-running tool the
    /// value is interim news as any other, and the policy says when.
    Scheduled(Value, FunctionResponseScheduling),
    /// It did not succeed.
    Failed(ToolError),
    /// It has begun something whose result will be supplied later from outside.
    Paused(Pending),
}

impl From<Result<Value, ToolError>> for ToolOutcome {
    fn from(result: Result<Value, ToolError>) -> Self {
        match result {
            Ok(value) => Self::Returned(value),
            Err(error) => Self::Failed(error),
        }
    }
}

/// Says that a call's result will be supplied later from outside.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Pending {
    /// What the model is told meanwhile; without it, nothing.
    pub interim: Option<Value>,
}

impl Pending {
    /// Pending, and the model is told nothing meanwhile.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Pending, and the model is told this meanwhile, such as a ticket number.
    #[must_use]
    pub fn with_interim(interim: Value) -> Self {
        Self {
            interim: Some(interim),
        }
    }
}

impl From<Pending> for ToolOutcome {
    fn from(pending: Pending) -> Self {
        Self::Paused(pending)
    }
}
