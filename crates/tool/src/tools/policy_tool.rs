//! One tool as it is registered: what it does, and beside it, as data, what holds for it.

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
/// The policy stands beside the tool and not around it, so however a tool is composed, no gate can
/// get lost.
///
/// ```
/// use recount_tool::{PolicyTool, SimpleTool, ToolPolicy};
/// use serde_json::json;
/// use std::sync::Arc;
///
/// let email = SimpleTool::new("send_email", "Sends an email", None, |_| async { Ok(json!({"sent": true})) });
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
    /// What another program says of it, where that is the one that runs it.
    pub(super) definition: Option<Value>,
    /// What the program says of its gate, where that is for it to say.
    pub(crate) predicates: Vec<Predicate>,
    /// The in-doubt rule if one was declared, because a declared default must not look like none.
    pub(crate) rule: Option<InDoubt>,
    /// It is for agents that name it, and the model of the conversation is not told of it.
    pub(crate) inner: bool,
    /// It came with an agent that has it among its tools, and what holds for it was said there.
    pub(crate) came_with_agent: bool,
}

/// Says whether a person is asked about a call with these arguments.
pub(super) type Predicate = Arc<dyn Fn(Value, State) -> BoxFuture<'static, bool> + Send + Sync>;

/// What a tool is made of.
#[derive(Clone)]
pub(crate) enum Body {
    Function(Arc<dyn ToolFunction>),
    Streaming(Arc<dyn StreamingTool>),
    InputStreaming(Arc<dyn InputStreamingTool>),
    ServerSide { name: String, declaration: Value },
    Agent(Arc<TextAgentTool>),
}

impl PolicyTool {
    /// Takes a function with the gate it declares itself, and a policy beside it.
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

    /// Takes a streaming tool with the gate it declares itself.
    #[must_use]
    pub fn streaming(tool: Arc<dyn StreamingTool>) -> Self {
        let gate = tool
            .requires_confirmation()
            .then(|| gate(tool.confirmation_message()));
        Self::of(Body::Streaming(tool), gate)
    }

    /// Takes an input streaming tool with the gate it declares itself.
    #[must_use]
    pub fn input_streaming(tool: Arc<dyn InputStreamingTool>) -> Self {
        let gate = tool
            .requires_confirmation()
            .then(|| gate(tool.confirmation_message()));
        Self::of(Body::InputStreaming(tool), gate)
    }

    /// A tool that the service runs itself; see [`T::server_side`](crate::T::server_side).
    #[must_use]
    pub fn server_side(name: impl Into<String>, declaration: Value) -> Self {
        let name = name.into();
        Self::of(Body::ServerSide { name, declaration }, None)
    }

    /// Takes an agent. Its tools are others: whoever registers it registers them, too.
    pub(crate) fn agent(tool: TextAgentTool) -> Self {
        Self::of(Body::Agent(Arc::new(tool)), None)
    }

    /// The tool is for agents that name it, and the model of the conversation is not told of it.
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

    /// The tool is one of an agent's own, and comes with it.
    pub(crate) fn coming_with_agent(self) -> Self {
        Self {
            came_with_agent: true,
            ..self.for_agents()
        }
    }

    /// The agent that it is, if it is one.
    #[doc(hidden)]
    pub fn text_agent(&self) -> Option<&Arc<TextAgentTool>> {
        match &self.body {
            Body::Agent(tool) => Some(tool),
            Body::Function(_)
            | Body::Streaming(_)
            | Body::InputStreaming(_)
            | Body::ServerSide { .. } => None,
        }
    }

    fn of(body: Body, gate: Option<ToolPolicy>) -> Self {
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

    /// Adds a policy to the one it has; a policy only ever gets stricter.
    #[must_use]
    pub fn with_policy(mut self, policy: ToolPolicy) -> Self {
        self.policy = self.policy.merged(policy);
        if let Some(rule) = self.rule {
            self.policy.in_doubt = rule;
        }
        self
    }

    /// Puts what a file of policies says in the place of what holds for it.
    #[must_use]
    pub(crate) fn changed_by(mut self, changes: &PolicyChanges) -> Self {
        let own = changes.tools.get(self.name());
        // What the service runs itself has no policy; who names it nevertheless is told so when it
        // is registered.
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
        self.long_running = true;
        self
    }

    /// Declares whether the model waits for the answer; of two declarations the one that it waits
    /// holds.
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

    /// Lists it under a category; it may have one.
    #[must_use]
    pub fn with_category(mut self, category: impl Into<String>) -> Self {
        self.categories.insert(category.into());
        self
    }

    /// Declares the argument at a JSON Pointer secret; see [`T::secret`](crate::T::secret).
    #[must_use]
    pub fn with_secret(mut self, pointer: impl Into<String>) -> Self {
        self.secret.push(pointer.into());
        // What encloses another stands before it, and each but once.
        self.secret.sort_unstable();
        self.secret.dedup();
        self
    }

    /// Takes the whole definition that another program gives of it into its contract:
    /// `{"server": name, "tool": {…}}`.
    #[must_use]
    #[doc(hidden)]
    pub fn with_definition(mut self, definition: Value) -> Self {
        self.definition = Some(definition);
        self
    }

    /// The same tool, with the body of another.
    #[doc(hidden)]
    pub fn performed_by(self, other: PolicyTool) -> Self {
        let body = other.body;
        Self { body, ..self }
    }

    /// The name the model calls it by.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.body {
            Body::Function(tool) => tool.name(),
            Body::Streaming(tool) => tool.name(),
            Body::InputStreaming(tool) => tool.name(),
            Body::ServerSide { name, .. } => name,
            Body::Agent(tool) => &tool.name,
        }
    }

    /// What holds for its calls.
    #[must_use]
    pub fn policy(&self) -> &ToolPolicy {
        &self.policy
    }

    /// Whether a person must agree before it runs.
    #[must_use]
    pub fn requires_confirmation(&self) -> bool {
        self.policy.confirm
    }

    /// What that person is told.
    #[must_use]
    pub fn confirmation_message(&self) -> Option<&str> {
        self.policy.confirm_message.as_deref()
    }

    /// True if the tool reads the text of its arguments itself; see [`ToolFunction::reads_text`].
    pub(crate) fn reads_text(&self) -> bool {
        match &self.body {
            Body::Function(tool) => tool.reads_text(),
            Body::Streaming(_)
            | Body::InputStreaming(_)
            | Body::ServerSide { .. }
            | Body::Agent(_) => false,
        }
    }

    /// How its results are understood.
    #[must_use]
    pub fn kind(&self) -> ToolKind {
        match self.body {
            Body::Function(_) if self.long_running => ToolKind::LongRunning,
            Body::Function(_) => ToolKind::Function,
            Body::Streaming(_) => ToolKind::Streaming,
            Body::InputStreaming(_) => ToolKind::InputStreaming,
            Body::ServerSide { .. } => ToolKind::ServerSide,
            Body::Agent(_) => ToolKind::Agent,
        }
    }

    /// The declaration that the model is given. A tool that runs in the background, may wait for a
    /// person, or tells its progress is declared non-blocking.
    #[must_use]
    pub fn declaration(&self) -> ToolDeclaration {
        let (said, parameters, server_side) = match &self.body {
            Body::Function(tool) => (tool.description(), tool.parameters(), None),
            Body::Streaming(tool) => (tool.description(), tool.parameters(), None),
            Body::InputStreaming(tool) => (tool.description(), tool.parameters(), None),
            Body::ServerSide { declaration, .. } => ("", None, Some(declaration.clone())),
            Body::Agent(tool) => (tool.description.as_str(), Some(parameters()), None),
        };
        let description = match self.kind() {
            ToolKind::Function
            | ToolKind::Streaming
            | ToolKind::InputStreaming
            | ToolKind::ServerSide
            | ToolKind::Agent => said.to_owned(),
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

    /// Runs the tool once, without asking for leave and without a time limit: both are the
    /// engine's.
    ///
    /// Each value of a streaming tool goes to `on_yield`, and the tool is not run on before that
    /// future is done; its error ends the run. A streaming tool that ends well has returned `null`.
    /// Other tools yield nothing.
    ///
    /// A panic becomes a failure. When the token of the context fires, the tool's future is dropped
    /// and the call is cancelled; when it has fired before, the tool is not run at all. Dropping
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
        // Begun here and kept on the heap, so that whoever awaits it need not carry the room for
        // arguments and context.
        let begun = (!cancellation.is_cancelled()).then(|| self.begin(args, context, on_yield));
        async move {
            let cancelled = || ToolError::Cancelled("the call was cancelled".to_owned());
            let Some(running) = begun else {
                return ToolOutcome::Failed(cancelled());
            };
            // The tool first: most are done at once, and then nobody listens for a cancellation.
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
                        | ToolKind::Agent => outcome,
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
                let (input, heard) = input::channel();
                let feeding = input::feed(context.input(), input);
                let running = async { tool.run_with_context(args, context, heard, sender).await };
                Box::pin(yielding::run(running, yielded, feeding, on_yield))
            }
            Body::ServerSide { name, .. } => at_once(ToolOutcome::Failed(ToolError::NotAvailable(
                format!("tool {name:?} is run by the service and not by calls"),
            ))),
            Body::Agent(tool) => at_once(ToolOutcome::Failed(ToolError::NotAvailable(format!(
                "the agent {:?} runs in a session of an engine, which keeps what it does",
                tool.name
            )))),
        }
    }
}

/// A tool under way.
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

/// What the outcome of a function means when its result comes later.
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
