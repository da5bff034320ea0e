//! How one run of a tool ends.

use serde_json::Value;

use super::ToolError;

/// How one run of a tool ends.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolOutcome {
    /// It returned its result; `null` is a result, too.
    Returned(Value),
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
