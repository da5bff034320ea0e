//! The common part of the ready-made tools.

use std::sync::Arc;

use async_trait::async_trait;
use recount_session::FunctionResponseScheduling;
use recount_session::catalog::Behavior;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::kinds::function::ToolFunction;
use crate::run::context::ToolContext;
use crate::run::error::ToolError;
use crate::run::outcome::ToolOutcome;
use crate::tools::policy_tool::PolicyTool;
use crate::tools::toolset::Toolset;

/// A ready-made tool; [`Declared`] adds the common part.
#[async_trait]
pub(super) trait ReadyMade: Send + Sync + 'static {
    const NAME: &'static str;
    const DESCRIPTION: &'static str;
    type Arguments: DeserializeOwned + Send;

    /// The JSON Schema of the arguments.
    fn schema() -> Value;

    async fn done(&self, args: Self::Arguments, context: ToolContext) -> Result<Value, ToolError>;
}

/// A ready-made tool as a [`ToolFunction`], whose results have the scheduling `WHEN_IDLE`.
struct Declared<T>(T);

pub(super) fn declared(tool: impl ReadyMade, category: &str) -> Toolset {
    let tool: Arc<dyn ToolFunction> = Arc::new(Declared(tool));
    PolicyTool::from(tool)
        .with_category(category)
        .with_behavior(Behavior::NonBlocking)
        .into()
}

#[async_trait]
impl<T: ReadyMade> ToolFunction for Declared<T> {
    fn name(&self) -> &str {
        T::NAME
    }

    fn description(&self) -> &str {
        T::DESCRIPTION
    }

    fn parameters(&self) -> Option<Value> {
        Some(T::schema())
    }

    async fn call(&self, _args: Value) -> Result<Value, ToolError> {
        let reason = "the tool takes a call of an engine or a dispatcher";
        Err(ToolError::NotAvailable(reason.to_owned()))
    }

    async fn call_with_context(
        &self,
        args: Value,
        context: ToolContext,
    ) -> Result<Value, ToolError> {
        // An engine or a dispatcher has already checked them against the schema.
        let args = serde_json::from_value(args);
        let args = args.map_err(|error| ToolError::InvalidArgs(error.to_string()))?;
        self.0.done(args, context).await
    }

    async fn invoke(&self, args: Value, context: ToolContext) -> ToolOutcome {
        match self.call_with_context(args, context).await {
            Ok(value) => ToolOutcome::Scheduled(value, FunctionResponseScheduling::WhenIdle),
            Err(error) => ToolOutcome::Failed(error),
        }
    }
}
