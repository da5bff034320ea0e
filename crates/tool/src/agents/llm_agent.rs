//! The plain text agent: one model, an instruction, tools, and a maximum number of turns.

use std::sync::Arc;

use recount_session::Json;

use crate::models::llm::{BaseLlm, LlmContent, LlmRequest, LlmTool};
use crate::run::state::State;
use crate::tools::text_agent::{AgentAsk, AgentSoFar, AgentStep, TextAgent, names};
use crate::tools::toolset::Toolset;

/// The default of [`LlmAgent::turns_max`].
const TURNS_MAX: u32 = 10;

/// A text agent with one model, an instruction, tools, and a maximum number of turns.
///
/// ```
/// use recount_tool::{LlmAgent, LlmReply, ScriptedLlm, T};
/// use serde_json::json;
///
/// let model = ScriptedLlm::new([LlmReply::text("Ada is verified.")]);
/// let look_up = T::simple("look_up", "Finds a customer", |_| async {
///     Ok(json!({"name": "Ada"}))
/// });
/// let verifier = LlmAgent::new("verifier", model)
///     .instruction("Verify the caller, who speaks {language}.")
///     .tools(look_up)
///     .turns_max(5)
///     .output_key("verified");
/// let tools = T::agent("verify_identity", "Verifies a caller's identity", verifier);
/// # let _ = tools;
/// ```
pub struct LlmAgent {
    name: String,
    llm: Arc<dyn BaseLlm>,
    instruction: Option<String>,
    tools: Toolset,
    shared: Vec<String>,
    turns_max: u32,
    output_key: Option<String>,
}

impl LlmAgent {
    /// Creates an agent with this name and model.
    pub fn new(name: impl Into<String>, llm: impl BaseLlm) -> LlmAgent {
        LlmAgent {
            name: name.into(),
            llm: Arc::new(llm),
            instruction: None,
            tools: Toolset::new(),
            shared: Vec::new(),
            turns_max: TURNS_MAX,
            output_key: None,
        }
    }

    /// Sets the model's instruction. `{key}` is replaced by the value of that key in the session's
    /// state, if there is one.
    #[must_use]
    pub fn instruction(mut self, instruction: impl Into<String>) -> LlmAgent {
        self.instruction = Some(instruction.into());
        self
    }

    /// Adds tools of the agent's own, which are hidden from the model of the conversation. Their
    /// policies apply to every call.
    #[must_use]
    pub fn tools(mut self, tools: impl Into<Toolset>) -> LlmAgent {
        self.tools = self.tools | tools.into();
        self
    }

    /// Lets the agent call these tools of the conversation, or of another agent in it. Registration
    /// rejects agents that call each other in a cycle.
    ///
    /// ```
    /// use recount_tool::{LlmAgent, ScriptedLlm, TextAgent};
    /// let agent = LlmAgent::new("clerk", ScriptedLlm::new([])).shares(["look_up"]);
    /// assert_eq!(agent.shared_tools(), ["look_up"]);
    /// ```
    #[must_use]
    pub fn shares(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> LlmAgent {
        self.shared.extend(names.into_iter().map(Into::into));
        self
    }

    /// Sets the maximum number of model turns, 10 by default. The agent fails when it reaches the
    /// maximum without a final answer.
    #[must_use]
    pub fn turns_max(mut self, turns: u32) -> LlmAgent {
        self.turns_max = turns.max(1);
        self
    }

    /// Stores the agent's answer under this key of the session's state, too.
    #[must_use]
    pub fn output_key(mut self, key: impl Into<String>) -> LlmAgent {
        self.output_key = Some(key.into());
        self
    }

    fn request(&self, run: &AgentSoFar<'_>) -> LlmRequest {
        let text = run.request.clone();
        let mut contents = vec![LlmContent::User { text }];
        for turn in &run.turns {
            let said = turn.said.clone();
            contents.push(LlmContent::Model { said });
            if !turn.answers.is_empty() {
                let answers = turn.answers.clone();
                contents.push(LlmContent::Tools { answers });
            }
        }
        let names = names(self);
        let mine = |tool: &&LlmTool| names.contains(&tool.name);
        let instruction = self.instruction.as_deref();
        LlmRequest {
            instruction: instruction.map(|it| filled(it, run.state)),
            contents,
            tools: run.tools.iter().filter(mine).cloned().collect(),
        }
    }
}

impl TextAgent for LlmAgent {
    fn name(&self) -> &str {
        &self.name
    }

    fn tools(&self) -> Toolset {
        self.tools.clone()
    }

    fn shared_tools(&self) -> Vec<String> {
        self.shared.clone()
    }

    fn next(&self, run: &AgentSoFar<'_>) -> AgentStep {
        let last = run.turns.last();
        if let Some(done) = last.filter(|turn| !turn.has_calls()) {
            let text = done.text();
            if text.trim().is_empty() {
                let message = format!(
                    "the agent {:?} replied with neither words nor calls",
                    self.name
                );
                return AgentStep::Fail(message);
            }
            if let Some(key) = &self.output_key {
                run.state.set(key, &text);
            }
            return AgentStep::Finish(text);
        }
        if run.turns.len() >= self.turns_max as usize {
            let (name, turns) = (&self.name, self.turns_max);
            return AgentStep::Fail(format!(
                "the agent {name:?} was not done after {turns} turns"
            ));
        }
        AgentStep::Ask(AgentAsk {
            of: self.name.clone(),
            llm: self.llm.clone(),
            request: self.request(run),
        })
    }
}

impl std::fmt::Debug for LlmAgent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LlmAgent")
            .field("name", &self.name)
            .field("model", &self.llm.model())
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}

/// Replaces each `{key}` with its value in the state; unknown keys stay as they are.
fn filled(text: &str, state: &State) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('{') {
        filled.push_str(before);
        let value = behind
            .split_once('}')
            .and_then(|(key, after)| Some((state.get_json(key)?, after)));
        match value {
            Some((value, after)) => {
                filled.push_str(&in_words(&value));
                rest = after;
            }
            None => {
                filled.push('{');
                rest = behind;
            }
        }
    }
    filled + rest
}

fn in_words(value: &Json) -> String {
    let text = serde_json::from_str::<String>(value.as_str());
    text.unwrap_or_else(|_| value.as_str().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::sequence::sequence;
    use crate::models::scripted_llm::ScriptedLlm;
    use crate::tools::t::T;

    #[test]
    fn inner_agent_keeps_its_own_tools() {
        let tool = |name| T::simple(name, "Does it", |args| async { Ok(args) });
        let agent = |name| LlmAgent::new(name, ScriptedLlm::new([]));
        let clerk = agent("clerk").tools(tool("look")).shares(["own"]);
        let boss = agent("boss").tools(T::agent("clerk", "Serves", clerk) | tool("own"));
        assert_eq!(names(&boss), ["clerk", "own"]);
        let both = sequence(boss, agent("other").tools(tool("more")));
        assert_eq!(names(&both), ["clerk", "own", "more"]);
        let all = T::agent("both", "Do", both);
        let all: Vec<&str> = all.tools().iter().map(|it| it.name()).collect();
        assert_eq!(all, ["both", "clerk", "look", "own", "more"]);
    }

    #[test]
    fn instruction_contains_known_state_values() {
        let state = State::default();
        state.set("language", "German");
        state.set("n", 9_007_199_254_740_993_u64);
        let text = "{language}, {n}: {unknown} {\"a\":{language}} {";
        let message = "German, 9007199254740993: {unknown} {\"a\":German} {";
        assert_eq!(filled(text, &state), message);
    }
}
