//! One tool as it is registered: what it does, and beside it, as data, what holds for it.

use std::any::Any;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use serde_json::Value;

use super::{Pending, ToolContext, ToolError, ToolFunction, ToolOutcome};
use crate::session::catalog::{ToolDeclaration, ToolKind};
use crate::session::policy::{InDoubt, ToolPolicy};

/// A tool with its policy and its kind.
///
/// The policy stands beside the function and not around it, so however a tool is composed, no gate can get lost.
#[derive(Clone)]
pub struct RegisteredTool {
    function: Arc<dyn ToolFunction>,
    policy: ToolPolicy,
    kind: ToolKind,
    secret: Vec<String>,
    /// The in-doubt rule if one was declared, because a declared default must not look like none.
    rule: Option<InDoubt>,
}

impl RegisteredTool {
    /// Takes a tool with the gate and the kind it declares itself.
    #[must_use]
    pub fn new(function: Arc<dyn ToolFunction>) -> Self {
        let policy = if function.requires_confirmation() {
            ToolPolicy::gate(function.confirmation_message().unwrap_or_default())
        } else {
            ToolPolicy::default()
        };
        let kind = function.kind();
        Self {
            function,
            policy,
            kind,
            secret: Vec::new(),
            rule: None,
        }
    }

    /// Adds a policy to the one it has; a policy only ever gets stricter.
    #[must_use]
    pub fn with_policy(mut self, policy: ToolPolicy) -> Self {
        self.policy = self.policy.merged(policy);
        if let Some(rule) = self.rule {
            self.policy.in_doubt = rule;
        }
        self
    }

    /// Declares the in-doubt rule; of two declared ones the more careful holds.
    #[must_use]
    pub fn with_in_doubt(mut self, rule: InDoubt) -> Self {
        let rule = self
            .rule
            .map_or(rule, |declared| declared.more_careful(rule));
        self.rule = Some(rule);
        self.policy.in_doubt = rule;
        self
    }

    /// Makes it a long-running tool.
    #[must_use]
    pub fn long_running(mut self) -> Self {
        self.kind = ToolKind::LongRunning;
        self
    }

    /// Declares the argument at a JSON Pointer secret; see [`T::secret`](super::T::secret).
    #[must_use]
    pub fn with_secret(mut self, pointer: impl Into<String>) -> Self {
        self.secret.push(pointer.into());
        // What encloses another stands before it, and each but once.
        self.secret.sort_unstable();
        self.secret.dedup();
        self
    }

    /// What it does.
    #[must_use]
    pub fn function(&self) -> &Arc<dyn ToolFunction> {
        &self.function
    }

    /// What holds for its calls.
    #[must_use]
    pub fn policy(&self) -> &ToolPolicy {
        &self.policy
    }

    /// How its results are understood.
    #[must_use]
    pub fn kind(&self) -> ToolKind {
        self.kind
    }

    /// What the model is told about it.
    #[must_use]
    pub fn declaration(&self) -> ToolDeclaration {
        let said = self.function.description();
        let description = match self.kind {
            ToolKind::Function
            | ToolKind::Streaming
            | ToolKind::InputStreaming
            | ToolKind::ServerSide => said.to_owned(),
            ToolKind::LongRunning if said.is_empty() => LONG_RUNNING_NOTE.to_owned(),
            ToolKind::LongRunning => format!("{said}\n\n{LONG_RUNNING_NOTE}"),
        };
        ToolDeclaration {
            name: self.function.name().to_owned(),
            description,
            parameters: self.function.parameters(),
            behavior: None,
            kind: self.kind,
            secret: self.secret.clone(),
            category: None,
            server_side: None,
        }
    }

    /// Runs the tool once, without asking for leave and without a time limit: both are the engine's.
    ///
    /// A panic becomes a failure. When the token of the context fires, the tool's future is dropped and the call is
    /// cancelled; when it has fired before, the tool is not run at all. Dropping the returned future drops the tool's.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// use std::sync::Arc;
    /// use recount::session::{Seq, SessionId};
    /// use recount::tool::{RegisteredTool, SimpleTool, ToolContext, ToolOutcome};
    /// use serde_json::json;
    ///
    /// let echo = RegisteredTool::new(Arc::new(SimpleTool::new("echo", "Echoes", None, |args| async { Ok(args) })));
    /// let session = SessionId(uuid::Uuid::nil());
    /// let context = ToolContext::new(session, session.call_id(Seq(1)), 1, "key-1");
    /// assert_eq!(echo.run(json!({"a": 1}), context).await, ToolOutcome::Returned(json!({"a": 1})));
    /// # });
    /// ```
    pub async fn run(&self, args: Value, context: ToolContext) -> ToolOutcome {
        let cancellation = context.cancellation.clone();
        // Inside the block, because a closure may panic before it returns its future.
        let running =
            AssertUnwindSafe(async { self.function.invoke(args, context).await }).catch_unwind();
        let outcome = tokio::select! {
            biased;
            () = cancellation.cancelled() => ToolOutcome::Failed(ToolError::Cancelled("the call was cancelled".to_owned())),
            ended = running => ended.unwrap_or_else(|panic| {
                ToolOutcome::Failed(ToolError::ExecutionFailed(format!("the tool panicked: {}", panic_text(&*panic))))
            }),
        };
        self.understood(outcome)
    }

    /// What the outcome means for this kind of tool.
    fn understood(&self, outcome: ToolOutcome) -> ToolOutcome {
        match (self.kind, outcome) {
            (ToolKind::LongRunning, ToolOutcome::Returned(Value::Null)) => {
                ToolOutcome::Paused(Pending::new())
            }
            (ToolKind::LongRunning, ToolOutcome::Returned(value)) => {
                ToolOutcome::Paused(Pending::with_interim(value))
            }
            (
                ToolKind::Function
                | ToolKind::LongRunning
                | ToolKind::Streaming
                | ToolKind::InputStreaming
                | ToolKind::ServerSide,
                outcome,
            ) => outcome,
        }
    }
}

impl fmt::Debug for RegisteredTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegisteredTool")
            .field("name", &self.function.name())
            .field("policy", &self.policy)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message")
}

/// Tells the model not to repeat a pending call.
const LONG_RUNNING_NOTE: &str = "NOTE: This is a long-running operation. Do not call this tool again while an earlier call is still pending.";

#[cfg(test)]
#[path = "registered_tests.rs"]
mod tests;
