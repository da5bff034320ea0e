//! A registered tool: its implementation, and its policy as data.

use std::collections::BTreeSet;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use recount_session::catalog::{AgentDeclaration, Behavior, ToolDeclaration, ToolKind};
use recount_session::policy::{InDoubt, Progress, ToolPolicy};
use recount_session::{PolicyChanges, ToolPolicyChanges};
use serde_json::Value;
use tokio::sync::mpsc;

use super::text_agent::{TextAgentTool, parameters};
use crate::kinds::client_tool::ClientTool;
use crate::kinds::function::ToolFunction;
use crate::kinds::input_streaming_tool::InputStreamingTool;
use crate::kinds::long_running::LONG_RUNNING_NOTE;
use crate::kinds::streaming_tool::StreamingTool;
use crate::kinds::yielding;
use crate::run::context::ToolContext;
use crate::run::error::ToolError;
use crate::run::input;
use crate::run::outcome::{Pending, ToolOutcome};
use crate::run::state::State;

/// A tool with its policy and its kind.
///
/// The policy is a field of the tool and no wrapper around it, so no composition can lose a gate.
///
/// ```
/// use recount_tool::{PolicyTool, SimpleTool, ToolPolicy};
/// use serde_json::json;
/// use std::sync::Arc;
///
/// let email = SimpleTool::new("email", "Sends it", None, |_| async { Ok(json!(true)) });
/// let tool = PolicyTool::new(Arc::new(email), ToolPolicy::gate("Really send it?"));
/// assert!(tool.requires_confirmation());
/// assert_eq!(tool.confirmation_message(), Some("Really send it?"));
/// ```
#[derive(Clone)]
pub struct PolicyTool {
    pub(crate) body: Body,
    pub(crate) policy: ToolPolicy,
    pub(crate) long_running: bool,
    pub(crate) behavior: Option<Behavior>,
    pub(crate) categories: BTreeSet<String>,
    pub(crate) secret: Vec<String>,
    /// The definition by the program that runs the tool, if that is another one.
    pub(super) definition: Option<Value>,
    /// The closures that decide if a call needs an approval.
    pub(crate) predicates: Vec<Predicate>,
    /// The in-doubt rule if declared, because a declared default differs from none.
    pub(crate) rule: Option<InDoubt>,
    /// True if the tool is only for agents that name it, hidden from the model of the conversation.
    pub(crate) inner: bool,
    /// True if the tool came with an agent that owns it, whose definition also set its policies.
    pub(crate) came_with_agent: bool,
}

/// A closure that returns true if a call with these arguments needs an approval.
pub(super) type Predicate = Arc<dyn Fn(Value, State) -> BoxFuture<'static, bool> + Send + Sync>;

/// The implementation of a tool.
#[derive(Clone)]
pub(crate) enum Body {
    Function(Arc<dyn ToolFunction>),
    Streaming(Arc<dyn StreamingTool>),
    InputStreaming(Arc<dyn InputStreamingTool>),
    ServerSide { name: String, declaration: Value },
    Agent(Arc<TextAgentTool>),
    Client(Arc<ClientTool>),
}

impl PolicyTool {
    /// Creates a tool from a function, with its own gate and an additional policy.
    #[must_use]
    pub fn new(tool: Arc<dyn ToolFunction>, policy: ToolPolicy) -> Self {
        let gate = tool
            .requires_confirmation()
            .then(|| gate(tool.confirmation_message()));
        let long_running = tool.is_long_running();
        Self {
            long_running,
            ..Self::of(Body::Function(tool), gate)
        }
        .with_policy(policy)
    }

    /// Creates a tool from a streaming tool, with its own gate.
    #[must_use]
    pub fn streaming(tool: Arc<dyn StreamingTool>) -> Self {
        let gate = tool
            .requires_confirmation()
            .then(|| gate(tool.confirmation_message()));
        Self::of(Body::Streaming(tool), gate)
    }

    /// Creates a tool from an input streaming tool, with its own gate.
    #[must_use]
    pub fn input_streaming(tool: Arc<dyn InputStreamingTool>) -> Self {
        let gate = tool
            .requires_confirmation()
            .then(|| gate(tool.confirmation_message()));
        Self::of(Body::InputStreaming(tool), gate)
    }

    /// Creates a tool that the service runs itself; see [`T::server_side`](crate::T::server_side).
    #[must_use]
    pub fn server_side(name: impl Into<String>, declaration: Value) -> Self {
        let name = name.into();
        Self::of(Body::ServerSide { name, declaration }, None)
    }

    /// Creates a tool from an agent, without the agent's tools, which the caller must register too.
    pub(crate) fn agent(tool: TextAgentTool) -> Self {
        Self::of(Body::Agent(Arc::new(tool)), None)
    }

    /// Makes the tool available only to agents that name it, hidden from the model of the
    /// conversation.
    ///
    /// ```
    /// use recount_tool::T;
    /// let send = T::simple("send_code", "Sends a code", |_| async { Ok(serde_json::json!({})) });
    /// let send = send.map(|tool| tool.for_agents());
    /// assert!(send.tools()[0].declaration().inner);
    /// ```
    #[must_use]
    pub fn for_agents(mut self) -> Self {
        self.inner = true;
        self
    }

    /// Marks the tool as one of an agent's own.
    pub(crate) fn coming_with_agent(self) -> Self {
        Self {
            came_with_agent: true,
            ..self.for_agents()
        }
    }

    /// Returns the agent, if the tool is one.
    #[doc(hidden)]
    pub fn text_agent(&self) -> Option<&Arc<TextAgentTool>> {
        match &self.body {
            Body::Agent(tool) => Some(tool),
            Body::Function(_)
            | Body::Streaming(_)
            | Body::InputStreaming(_)
            | Body::ServerSide { .. }
            | Body::Client(_) => None,
        }
    }

    pub(super) fn of(body: Body, gate: Option<ToolPolicy>) -> Self {
        Self {
            body,
            policy: gate.unwrap_or_default(),
            long_running: false,
            behavior: None,
            categories: BTreeSet::new(),
            secret: Vec::new(),
            definition: None,
            predicates: Vec::new(),
            rule: None,
            inner: false,
            came_with_agent: false,
        }
    }

    /// Adds a policy to the existing one. Adding only ever makes a policy stricter.
    #[must_use]
    pub fn with_policy(mut self, policy: ToolPolicy) -> Self {
        self.policy = self.policy.merged(policy);
        if let Some(rule) = self.rule {
            self.policy.in_doubt = rule;
        }
        self
    }

    /// Replaces the tool's policies by those in a file of policies.
    #[must_use]
    pub(crate) fn changed_by(mut self, changes: &PolicyChanges) -> Self {
        let own = changes.tools.get(self.name());
        // A server-side tool has no policy. Registration reports a file that names one.
        if self.kind() == ToolKind::ServerSide && own.is_none() {
            return self;
        }
        let policy = changes.changed(self.name(), self.policy.clone());
        if policy.in_doubt != self.policy.in_doubt {
            self.rule = Some(policy.in_doubt);
        }
        if changes.defaults.decides_gate() || own.is_some_and(ToolPolicyChanges::decides_gate) {
            self.predicates.clear();
        }
        self.policy = policy;
        self
    }

    /// Declares the in-doubt rule; of two declared ones the safer applies.
    #[must_use]
    pub fn with_in_doubt(mut self, rule: InDoubt) -> Self {
        let rule = self
            .rule
            .map_or(rule, |declared| declared.more_careful(rule));
        self.rule = Some(rule);
        self.policy.in_doubt = rule;
        self
    }

    /// Makes the tool a long-running one.
    #[must_use]
    pub fn long_running(mut self) -> Self {
        self.long_running = true;
        self
    }

    /// Declares whether the model waits for the result. Of two different declarations, waiting
    /// applies.
    #[must_use]
    pub fn with_behavior(mut self, behavior: Behavior) -> Self {
        self.behavior = match (self.behavior, behavior) {
            (Some(Behavior::Blocking), _) | (_, Behavior::Blocking) => Some(Behavior::Blocking),
            (Some(Behavior::NonBlocking) | None, Behavior::NonBlocking) => {
                Some(Behavior::NonBlocking)
            }
        };
        self
    }

    /// Adds a category; a tool may have one.
    #[must_use]
    pub fn with_category(mut self, category: impl Into<String>) -> Self {
        self.categories.insert(category.into());
        self
    }

    /// Declares the argument at a JSON Pointer secret; see [`T::secret`](crate::T::secret).
    #[must_use]
    pub fn with_secret(mut self, pointer: impl Into<String>) -> Self {
        self.secret.push(pointer.into());
        // Sorted, so that an enclosing pointer is first, and without duplicates.
        self.secret.sort_unstable();
        self.secret.dedup();
        self
    }

    /// Adds the whole definition by another program to the tool's contract:
    /// `{"server": name, "tool": {…}}`.
    #[must_use]
    #[doc(hidden)]
    pub fn with_definition(mut self, definition: Value) -> Self {
        self.definition = Some(definition);
        self
    }

    /// Returns the same tool with the implementation of another.
    #[doc(hidden)]
    pub fn performed_by(self, other: PolicyTool) -> Self {
        let body = other.body;
        Self { body, ..self }
    }

    /// Returns the name by which the model calls the tool.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.body {
            Body::Function(tool) => tool.name(),
            Body::Streaming(tool) => tool.name(),
            Body::InputStreaming(tool) => tool.name(),
            Body::ServerSide { name, .. } => name,
            Body::Agent(tool) => &tool.name,
            Body::Client(tool) => &tool.name,
        }
    }

    /// Returns the policy for its calls.
    #[must_use]
    pub fn policy(&self) -> &ToolPolicy {
        &self.policy
    }

    /// True if a call needs an approval before it runs.
    #[must_use]
    pub fn requires_confirmation(&self) -> bool {
        self.policy.confirm
    }

    /// Returns the message for the approver.
    #[must_use]
    pub fn confirmation_message(&self) -> Option<&str> {
        self.policy.confirm_message.as_deref()
    }

    /// Returns the kind, which determines the meaning of its results.
    #[must_use]
    pub fn kind(&self) -> ToolKind {
        match self.body {
            Body::Function(_) if self.long_running => ToolKind::LongRunning,
            Body::Function(_) => ToolKind::Function,
            Body::Streaming(_) => ToolKind::Streaming,
            Body::InputStreaming(_) => ToolKind::InputStreaming,
            Body::ServerSide { .. } => ToolKind::ServerSide,
            Body::Agent(_) => ToolKind::Agent,
            Body::Client(_) => ToolKind::Client,
        }
    }

    /// Returns the declaration for the model. A tool that runs in the background, may wait for an
    /// approver, or reports progress to the model is declared non-blocking.
    #[must_use]
    pub fn declaration(&self) -> ToolDeclaration {
        let (said, parameters, server_side) = match &self.body {
            Body::Function(tool) => (tool.description(), tool.parameters(), None),
            Body::Streaming(tool) => (tool.description(), tool.parameters(), None),
            Body::InputStreaming(tool) => (tool.description(), tool.parameters(), None),
            Body::ServerSide { declaration, .. } => ("", None, Some(declaration.clone())),
            Body::Agent(tool) => (tool.description.as_str(), Some(parameters()), None),
            Body::Client(tool) => (tool.description.as_str(), tool.parameters.clone(), None),
        };
        let description = match self.kind() {
            ToolKind::Function
            | ToolKind::Streaming
            | ToolKind::InputStreaming
            | ToolKind::ServerSide
            | ToolKind::Agent
            | ToolKind::Client => said.to_owned(),
            ToolKind::LongRunning if said.is_empty() => LONG_RUNNING_NOTE.to_owned(),
            ToolKind::LongRunning => format!("{said}\n\n{LONG_RUNNING_NOTE}"),
        };
        let tells = self.policy.progress == Some(Progress::Told);
        let waits = self.policy.background.is_some() || self.policy.confirm || tells;
        let by_policy = waits.then_some(Behavior::NonBlocking);
        ToolDeclaration {
            name: self.name().to_owned(),
            description,
            parameters,
            behavior: self.behavior.or(by_policy),
            kind: self.kind(),
            secret: self.secret.clone(),
            category: self.categories.first().cloned(),
            server_side,
            definition: self.definition.clone(),
            implementation: self.implementation(),
            inner: self.inner,
            agent: self.text_agent().map(|tool| AgentDeclaration {
                tools: tool.callable().into_iter().collect(),
            }),
        }
    }

    /// Runs the tool once. The engine handles approval and time limit.
    ///
    /// Each value of a streaming tool goes to `on_yield`, and the tool is not polled again before
    /// that future is done; its error ends the run. A successful streaming tool returns `null`.
    /// Other tools yield nothing.
    ///
    /// A panic becomes a failure. When the token of the context fires, the tool's future is dropped
    /// and the call is cancelled. If it has fired before, the tool does not run at all. Dropping
    /// the returned future drops the tool's.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// use std::sync::Arc;
    /// use recount_session::{Seq, SessionId};
    /// use recount_tool::{PolicyTool, SimpleTool, ToolContext, ToolOutcome, ToolPolicy};
    /// use serde_json::json;
    ///
    /// let echo = SimpleTool::new("echo", "Echoes", None, |args| async { Ok(args) });
    /// let echo = PolicyTool::new(Arc::new(echo), ToolPolicy::default());
    /// let session = SessionId(uuid::Uuid::nil());
    /// let context = ToolContext::new(session, session.call_id(Seq(1)), 1, "key-1");
    /// let outcome = echo.run(json!({"a": 1}), context, |_value| async { Ok(()) }).await;
    /// assert_eq!(outcome, ToolOutcome::Returned(json!({"a": 1})));
    /// # });
    /// ```
    pub fn run<'a, F, Fut>(
        &'a self,
        args: Value,
        context: ToolContext,
        on_yield: F,
    ) -> impl Future<Output = ToolOutcome> + Send + 'a
    where
        F: FnMut(Value) -> Fut + Send + 'a,
        Fut: Future<Output = Result<(), ToolError>> + Send + 'a,
    {
        let cancellation = context.cancellation.clone();
        // Started here and boxed, so that the returned future does not hold arguments and context.
        let begun = (!cancellation.is_cancelled()).then(|| self.begin(args, context, on_yield));
        async move {
            let cancelled = || ToolError::Cancelled("the call was cancelled".to_owned());
            let Some(running) = begun else {
                return ToolOutcome::Failed(cancelled());
            };
            // The tool first: most tools return at once, and then the token is never polled.
            tokio::select! {
                biased;
                ended = AssertUnwindSafe(running).catch_unwind() => {
                    let outcome = ended.unwrap_or_else(|panic| yielding::panicked(&*panic));
                    match self.kind() {
                        ToolKind::LongRunning => paused(outcome),
                        ToolKind::Function
                        | ToolKind::Streaming
                        | ToolKind::InputStreaming
                        | ToolKind::ServerSide
                        | ToolKind::Agent
                        | ToolKind::Client => outcome,
                    }
                }
                () = cancellation.cancelled() => ToolOutcome::Failed(cancelled()),
            }
        }
    }

    fn begin<'a, F, Fut>(&'a self, args: Value, context: ToolContext, on_yield: F) -> Running<'a>
    where
        F: FnMut(Value) -> Fut + Send + 'a,
        Fut: Future<Output = Result<(), ToolError>> + Send + 'a,
    {
        let at_once = |outcome| -> Running<'a> { Box::pin(std::future::ready(outcome)) };
        match &self.body {
            Body::Function(tool) => {
                // A tool may panic before it returns its future.
                let begin = AssertUnwindSafe(|| match context.resumption() {
                    Some((state, answer)) => (**tool).resume(context, state, answer),
                    None => (**tool).invoke(args, context),
                });
                std::panic::catch_unwind(begin)
                    .unwrap_or_else(|panic| at_once(yielding::panicked(&*panic)))
            }
            Body::Streaming(tool) => {
                let (sender, yielded) = mpsc::channel(1);
                let running = async { tool.run_with_context(args, context, sender).await };
                let nothing = std::future::ready(());
                Box::pin(yielding::run(running, yielded, nothing, on_yield))
            }
            Body::InputStreaming(tool) => {
                let (sender, yielded) = mpsc::channel(1);
                let (input, receiver) = input::channel();
                let feeding = input::feed(context.input(), input);
                let running =
                    async { tool.run_with_context(args, context, receiver, sender).await };
                Box::pin(yielding::run(running, yielded, feeding, on_yield))
            }
            Body::ServerSide { name, .. } => at_once(ToolOutcome::Failed(ToolError::NotAvailable(
                format!("tool {name:?} is run by the service and not by calls"),
            ))),
            Body::Agent(tool) => at_once(ToolOutcome::Failed(ToolError::NotAvailable(format!(
                "the agent {:?} runs in a session of an engine, which keeps what it does",
                tool.name
            )))),
            Body::Client(tool) => at_once(ToolOutcome::Failed(ToolError::NotAvailable(format!(
                "a client runs the tool {:?}, and claims its calls from an engine or a journal",
                tool.name
            )))),
        }
    }
}

/// The future of a running tool.
type Running<'a> = Pin<Box<dyn Future<Output = ToolOutcome> + Send + 'a>>;

impl From<Arc<dyn ToolFunction>> for PolicyTool {
    fn from(tool: Arc<dyn ToolFunction>) -> Self {
        Self::new(tool, ToolPolicy::default())
    }
}

impl fmt::Debug for PolicyTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PolicyTool")
            .field("name", &self.name())
            .field("policy", &self.policy)
            .field("kind", &self.kind())
            .finish_non_exhaustive()
    }
}

fn gate(message: Option<&str>) -> ToolPolicy {
    ToolPolicy::gate(message.unwrap_or_default())
}

/// Converts the outcome of a long-running function, whose result comes later.
fn paused(outcome: ToolOutcome) -> ToolOutcome {
    match outcome {
        ToolOutcome::Returned(Value::Null) => Pending::new().into(),
        ToolOutcome::Text(text) => Pending::with_interim_text(text).into(),
        ToolOutcome::Returned(value) | ToolOutcome::Scheduled(value, _) => {
            Pending::with_interim(value).into()
        }
        outcome @ (ToolOutcome::Failed(_) | ToolOutcome::Paused(_) | ToolOutcome::Asked(_)) => {
            outcome
        }
    }
}

#[cfg(test)]
#[path = "policy_tool_tests.rs"]
mod tests;
