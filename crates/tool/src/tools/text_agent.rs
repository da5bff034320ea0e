//! Text agents, which are pure functions from a run so far to its next step, and one as a tool.

use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};

use super::policy_tool::PolicyTool;
use super::toolset::Toolset;
use crate::models::llm::{BaseLlm, LlmAnswer, LlmRequest, LlmSaid, LlmTool};
use crate::run::state::State;

/// An agent that answers a request in words, with one or more turns of a language model.
///
/// It has no side effects: it reads the recorded run so far and returns the next step. So a run can
/// be cut off anywhere and continue in another process. The same run so far must always give the
/// same step.
///
/// ```
/// use std::sync::Arc;
/// use recount_tool::{AgentAsk, AgentSoFar, AgentStep, BaseLlm, LlmContent, LlmRequest, TextAgent};
///
/// /// Asks once, and passes on what was said.
/// struct Once(Arc<dyn BaseLlm>);
///
/// impl TextAgent for Once {
///     fn name(&self) -> &str {
///         "once"
///     }
///
///     fn next(&self, run: &AgentSoFar<'_>) -> AgentStep {
///         if let Some(turn) = run.turns.last() {
///             return AgentStep::Finish(turn.text());
///         }
///         let asked = LlmContent::User { text: run.request.clone() };
///         let request = LlmRequest { contents: vec![asked], ..LlmRequest::default() };
///         AgentStep::Ask(AgentAsk { of: "once".to_owned(), llm: self.0.clone(), request })
///     }
/// }
/// ```
pub trait TextAgent: Send + Sync + 'static {
    /// Returns the agent's name, recorded with each turn.
    fn name(&self) -> &str;

    /// Returns the agent's own tools, which are hidden from the model of the conversation.
    fn tools(&self) -> Toolset {
        Toolset::new()
    }

    /// Returns the names of the conversation's tools that the agent may call, too.
    fn shared_tools(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the next step.
    fn next(&self, run: &AgentSoFar<'_>) -> AgentStep;
}

impl<A: TextAgent + ?Sized> TextAgent for Arc<A> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn tools(&self) -> Toolset {
        (**self).tools()
    }

    fn shared_tools(&self) -> Vec<String> {
        (**self).shared_tools()
    }

    fn next(&self, run: &AgentSoFar<'_>) -> AgentStep {
        (**self).next(run)
    }
}

/// The run of an agent so far.
#[derive(Clone, Debug)]
pub struct AgentSoFar<'a> {
    /// The request to the agent.
    pub request: String,
    /// The turns of the agent's model, oldest first. All calls of these turns have ended.
    pub turns: Vec<AgentTurnSoFar>,
    /// The [`AgentAsk::of`] of a request without reply, because the process ended or the model was
    /// unreachable. State changes before that request are recorded.
    pub asked: Option<String>,
    /// The tools that the agent's model may call.
    pub tools: &'a [LlmTool],
    /// The state of the session, for reading and writing. Writes are recorded with the step.
    pub state: &'a State,
}

/// One turn of an agent's model.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentTurnSoFar {
    /// The agent that made the request, as its [`AgentAsk::of`].
    pub of: String,
    /// The parts of the model's reply.
    pub said: Vec<LlmSaid>,
    /// The responses to the turn's calls, in their order.
    pub answers: Vec<LlmAnswer>,
}

impl AgentTurnSoFar {
    /// Returns the text of the turn.
    ///
    /// ```
    /// use recount_tool::{AgentTurnSoFar, LlmSaid};
    /// let turn = AgentTurnSoFar {
    ///     of: "a".into(),
    ///     said: vec![LlmSaid::text("It is "), LlmSaid::text("paid.")],
    ///     answers: vec![],
    /// };
    /// assert_eq!(turn.text(), "It is paid.");
    /// ```
    #[must_use]
    pub fn text(&self) -> String {
        let words = self.said.iter().filter_map(|it| match it {
            LlmSaid::Text { text, .. } => Some(text.as_str()),
            LlmSaid::Call { .. } => None,
        });
        words.collect()
    }

    /// True if the model made calls.
    #[must_use]
    pub fn has_calls(&self) -> bool {
        self.said.iter().any(|it| match it {
            LlmSaid::Call { .. } => true,
            LlmSaid::Text { .. } => false,
        })
    }
}

/// The next step of an agent.
pub enum AgentStep {
    /// Ask the agent's model.
    Ask(AgentAsk),
    /// Finish with this answer.
    Finish(String),
    /// Fail with this reason, which the calling model receives.
    Fail(String),
}

/// A request to a model.
pub struct AgentAsk {
    /// The recorded name of the requesting agent. In a sequence, a prefix for its position precedes
    /// the name.
    pub of: String,
    /// The model to ask.
    pub llm: Arc<dyn BaseLlm>,
    /// The request to the model.
    pub request: LlmRequest,
}

impl std::fmt::Debug for AgentStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            AgentStep::Ask(ask) => f.debug_tuple("Ask").field(ask).finish(),
            AgentStep::Finish(text) => f.debug_tuple("Finish").field(text).finish(),
            AgentStep::Fail(why) => f.debug_tuple("Fail").field(why).finish(),
        }
    }
}

impl std::fmt::Debug for AgentAsk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentAsk")
            .field("of", &self.of)
            .field("model", &self.llm.model())
            .field("request", &self.request)
            .finish()
    }
}

/// A text agent as a tool: it is called with `{"request": "…"}`, and its result is
/// `{"output": "…"}`.
///
/// Its calls pass the same policies as any other and are recorded under its own call. It brings its
/// own tools, which are hidden from the model of the conversation. A dispatcher without an engine
/// has no journal and runs no agents.
///
/// ```
/// use recount_tool::{LlmAgent, LlmReply, ScriptedLlm, State, T, TextAgentTool};
///
/// let verifier = LlmAgent::new("verifier", ScriptedLlm::new([LlmReply::text("It is Ada.")]));
/// let state = State::default();
/// let tool = TextAgentTool::new(
///     "verify_identity",
///     "Verifies a caller's identity",
///     verifier,
///     state.clone(),
/// );
/// let tools = T::timeout(tool, std::time::Duration::from_secs(120));
/// # let _ = tools;
/// ```
#[derive(Clone)]
pub struct TextAgentTool {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) agent: Arc<dyn TextAgent>,
    pub(crate) state: State,
}

impl TextAgentTool {
    /// Creates a tool from an agent.
    ///
    /// The agent reads and writes the state of the session in which it is called. For keys that
    /// this session lacks, it reads the current value in `state`. This is a copy: later writes to
    /// `state` are not seen, and `state` is never written.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        agent: impl TextAgent,
        state: State,
    ) -> TextAgentTool {
        TextAgentTool {
            name: name.into(),
            description: description.into(),
            agent: Arc::new(agent),
            // A copy of the current values.
            state: state.over(),
        }
    }

    /// Returns the agent.
    #[must_use]
    pub fn agent(&self) -> &Arc<dyn TextAgent> {
        &self.agent
    }

    /// Returns the default state for keys that a session lacks.
    #[doc(hidden)]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Returns the names of the tools that the agent's model may call.
    #[doc(hidden)]
    pub fn callable(&self) -> Vec<String> {
        names(&*self.agent)
    }
}

impl From<TextAgentTool> for Toolset {
    /// Returns the tool together with the agent's own tools.
    fn from(tool: TextAgentTool) -> Toolset {
        let own = tool.agent.tools().map_all(PolicyTool::coming_with_agent);
        Toolset::from(PolicyTool::agent(tool)) | own
    }
}

impl fmt::Debug for TextAgentTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextAgentTool")
            .field("name", &self.name)
            .field("agent", &self.agent.name())
            .finish_non_exhaustive()
    }
}

/// Returns the JSON Schema of an agent's arguments.
pub(crate) fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "request": {"type": "string", "description": "What the agent is to do, in words"}
        },
        "required": ["request"],
    })
}

/// Returns the names of all tools that an agent may call. Tools that came with an agent among its
/// tools belong to that agent.
pub(crate) fn names(agent: &dyn TextAgent) -> Vec<String> {
    let tools = agent.tools();
    let own = tools.tools().iter().filter(|tool| !tool.came_with_agent);
    let own = own.map(|tool| tool.name().to_owned());
    own.chain(agent.shared_tools()).collect()
}
