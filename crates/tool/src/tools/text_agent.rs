//! Text agents, each a pure function from a run so far to its next step, and one as a tool.

use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};

use super::policy_tool::PolicyTool;
use super::toolset::Toolset;
use crate::models::llm::{BaseLlm, LlmAnswer, LlmRequest, LlmSaid, LlmTool};
use crate::run::state::State;

/// An agent that is given a request in words and comes to an answer, turn by turn of a language
/// model.
///
/// It does nothing itself: it looks at what is on record of its run and says what is next. So a run
/// can be cut off anywhere and goes on in another process. The same run so far must lead to the
/// same step, whenever it is asked.
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
    /// Its name, as it goes on record with each turn.
    fn name(&self) -> &str;

    /// The tools that are its own: the model of the conversation is not told of them.
    fn tools(&self) -> Toolset {
        Toolset::new()
    }

    /// The tools of the conversation that it may call, too, by name.
    fn shared_tools(&self) -> Vec<String> {
        Vec::new()
    }

    /// What is next.
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
    /// What it was asked.
    pub request: String,
    /// The turns of its model, oldest first. In each that made calls, all of them have ended.
    pub turns: Vec<AgentTurnSoFar>,
    /// Who asked last, as its [`AgentAsk::of`], where there is no reply: the process ended, or the
    /// model could not be reached. What the agent wrote before that question is on record.
    pub asked: Option<String>,
    /// The tools that its model may call.
    pub tools: &'a [LlmTool],
    /// The state of the session, for reading and writing. What is written goes on record with the
    /// step.
    pub state: &'a State,
}

/// One turn of an agent's model.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentTurnSoFar {
    /// The agent that asked, as its [`AgentAsk::of`].
    pub of: String,
    /// What the model said.
    pub said: Vec<LlmSaid>,
    /// What came of its calls, in their order.
    pub answers: Vec<LlmAnswer>,
}

impl AgentTurnSoFar {
    /// The words of the turn.
    ///
    /// ```
    /// use recount_tool::{AgentTurnSoFar, LlmSaid};
    /// let turn = AgentTurnSoFar { of: "a".into(), said: vec![LlmSaid::text("It is "), LlmSaid::text("paid.")], answers: vec![] };
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

    /// Whether the model made calls.
    #[must_use]
    pub fn has_calls(&self) -> bool {
        self.said.iter().any(|it| match it {
            LlmSaid::Call { .. } => true,
            LlmSaid::Text { .. } => false,
        })
    }
}

/// What an agent does next.
pub enum AgentStep {
    /// Its model is asked.
    Ask(AgentAsk),
    /// It is done: this is its answer.
    Finish(String),
    /// It cannot go on, and why: the model that called it hears so.
    Fail(String),
}

/// What a model is to be asked.
pub struct AgentAsk {
    /// Who asks, as it goes on record: the agent's name, behind its place where agents are put
    /// together.
    pub of: String,
    /// The model.
    pub llm: Arc<dyn BaseLlm>,
    /// What it is asked.
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

/// A text agent as a tool: `{"request": "…"}` is what it is asked, and its answer in words is the
/// result, `{"output": "…"}`.
///
/// Its calls pass the same policies as any other and are on record under its own call. Tools of its
/// own come with it, and the model of the conversation is not told of them. A dispatcher that
/// stands alone has no journal and runs no agents.
///
/// ```
/// use recount_tool::{LlmAgent, LlmReply, ScriptedLlm, State, T, TextAgentTool};
///
/// let verifier = LlmAgent::new("verifier", ScriptedLlm::new([LlmReply::text("It is Ada.")]));
/// let state = State::default();
/// let tool = TextAgentTool::new("verify_identity", "Verifies a caller's identity", verifier, state.clone());
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
    /// Makes a tool of an agent.
    ///
    /// The agent reads and writes the state of the session in which it is called: that is what it
    /// shares, both ways. What `state` holds now it reads where that session has nothing under the
    /// same key. It is a copy: what is written to `state` later is not seen, and nothing is written
    /// to it.
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
            // As it is now.
            state: state.over(),
        }
    }

    /// The agent.
    #[must_use]
    pub fn agent(&self) -> &Arc<dyn TextAgent> {
        &self.agent
    }

    /// What is read where a session has nothing.
    #[doc(hidden)]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The names of the tools that its model may call.
    #[doc(hidden)]
    pub fn callable(&self) -> Vec<String> {
        names(&*self.agent)
    }
}

impl From<TextAgentTool> for Toolset {
    /// The tool, and those of its agent, which the model of the conversation is not told of.
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

/// The JSON Schema of what an agent is called with.
pub(crate) fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "request": {"type": "string", "description": "What the agent is to do, in words"}
        },
        "required": ["request"],
    })
}

/// The names of all tools that an agent may call: what came with an agent among its tools is that
/// one's own.
pub(crate) fn names(agent: &dyn TextAgent) -> Vec<String> {
    let tools = agent.tools();
    let own = tools.tools().iter().filter(|tool| !tool.came_with_agent);
    let own = own.map(|tool| tool.name().to_owned());
    own.chain(agent.shared_tools()).collect()
}
