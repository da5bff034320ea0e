//! A sequence of two agents.

use crate::models::llm::LlmTool;
use crate::run::state::State;
use crate::tools::text_agent::{AgentSoFar, AgentStep, AgentTurnSoFar, TextAgent, names};
use crate::tools::toolset::Toolset;

/// Two agents in sequence: the answer of the first is the request of the second. See [`sequence`].
#[derive(Debug)]
pub struct Sequence<A, B> {
    name: String,
    first: A,
    second: B,
}

/// Combines two agents: `first` answers the request, `second` answers the result of `first`.
///
/// ```
/// use recount_tool::{LlmAgent, LlmReply, ScriptedLlm, TextAgent, sequence};
///
/// let plan = LlmAgent::new("plan", ScriptedLlm::new([LlmReply::text("12 x 50.00")]));
/// let check = LlmAgent::new("check", ScriptedLlm::new([LlmReply::text("12 x 50.00 is right.")]));
/// let pipeline = sequence(plan, check);
/// assert_eq!(pipeline.name(), "plan, check");
/// ```
pub fn sequence<A: TextAgent, B: TextAgent>(first: A, second: B) -> Sequence<A, B> {
    Sequence {
        name: format!("{}, {}", first.name(), second.name()),
        first,
        second,
    }
}

/// The prefixes of the agent names in recorded turns, one for each agent of the sequence.
const PREFIXES: [&str; 2] = ["0/", "1/"];

impl<A: TextAgent, B: TextAgent> TextAgent for Sequence<A, B> {
    fn name(&self) -> &str {
        &self.name
    }

    fn tools(&self) -> Toolset {
        self.first.tools() | self.second.tools()
    }

    fn shared_tools(&self) -> Vec<String> {
        let mut names = self.first.shared_tools();
        names.extend(self.second.shared_tools());
        names
    }

    fn next(&self, run: &AgentSoFar<'_>) -> AgentStep {
        let [place, then] = PREFIXES;
        let mut asked = run.turns.iter().map(|turn| &turn.of).chain(&run.asked);
        let begun = asked.any(|of| of.starts_with(then));
        // Once the second agent has begun, the final writes of the first are recorded. So this
        // replay of the first writes to a copy, which is dropped.
        let discarded = run.state.over();
        let state = if begun { &discarded } else { run.state };
        let step = part(&self.first, run, run.request.clone(), place, state);
        let AgentStep::Finish(text) = step else {
            return step;
        };
        part(&self.second, run, text, then, run.state)
    }
}

/// Computes the next step of one of the two agents from its own turns.
fn part(
    agent: &dyn TextAgent,
    run: &AgentSoFar<'_>,
    request: String,
    place: &str,
    state: &State,
) -> AgentStep {
    let names = names(agent);
    let mine = |tool: &&LlmTool| names.contains(&tool.name);
    let tools: Vec<LlmTool> = run.tools.iter().filter(mine).cloned().collect();
    let turns = run.turns.iter().filter_map(|turn| {
        let of = turn.of.strip_prefix(place)?.to_owned();
        let turn = turn.clone();
        Some(AgentTurnSoFar { of, ..turn })
    });
    let asked = run.asked.as_deref().and_then(|of| of.strip_prefix(place));
    let step = agent.next(&AgentSoFar {
        request,
        turns: turns.collect(),
        asked: asked.map(str::to_owned),
        tools: &tools,
        state,
    });
    match step {
        AgentStep::Ask(mut ask) => {
            ask.of.insert_str(0, place);
            AgentStep::Ask(ask)
        }
        AgentStep::Finish(_) | AgentStep::Fail(_) => step,
    }
}

#[cfg(test)]
#[expect(clippy::panic, reason = "a test that meets the impossible must stop")]
mod tests {
    use super::*;
    use crate::agents::llm_agent::LlmAgent;
    use crate::models::llm::{LlmContent, LlmSaid};
    use crate::models::scripted_llm::ScriptedLlm;

    fn agent(name: &str) -> LlmAgent {
        LlmAgent::new(name, ScriptedLlm::new([])).output_key(name)
    }

    fn said(of: &str, text: &str) -> AgentTurnSoFar {
        AgentTurnSoFar {
            of: of.to_owned(),
            said: vec![LlmSaid::text(text)],
            answers: Vec::new(),
        }
    }

    fn next(turns: Vec<AgentTurnSoFar>, state: &State) -> AgentStep {
        again(turns, None, state)
    }

    fn again(turns: Vec<AgentTurnSoFar>, asked: Option<&str>, state: &State) -> AgentStep {
        let inner = sequence(agent("a"), agent("b"));
        sequence(inner, agent("c")).next(&AgentSoFar {
            request: "go".to_owned(),
            turns,
            asked: asked.map(str::to_owned),
            tools: &[],
            state,
        })
    }

    fn asked(step: AgentStep) -> (String, String) {
        let AgentStep::Ask(ask) = step else {
            panic!("{step:?}");
        };
        let Some(LlmContent::User { text }) = ask.request.contents.first() else {
            panic!("{ask:?}");
        };
        (ask.of, text.clone())
    }

    #[test]
    fn second_agent_is_asked_the_first_answer() {
        let state = State::default();
        let (of, text) = asked(next(Vec::new(), &state));
        assert_eq!((of.as_str(), text.as_str()), ("0/0/a", "go"));
        let mut turns = vec![said("0/0/a", "from a")];
        let (of, text) = asked(next(turns.clone(), &state));
        assert_eq!((of.as_str(), text.as_str()), ("0/1/b", "from a"));
        assert_eq!(state.get::<String>("a").as_deref(), Some("from a"));
        state.set("a", "of somebody else");
        let (of, text) = asked(again(turns.clone(), Some("0/1/b"), &state));
        assert_eq!((of.as_str(), text.as_str()), ("0/1/b", "from a"));
        assert_eq!(
            state.get::<String>("a").as_deref(),
            Some("of somebody else")
        );
        turns.push(said("0/1/b", "from b"));
        let (of, text) = asked(next(turns.clone(), &state));
        assert_eq!((of.as_str(), text.as_str()), ("1/c", "from b"));
        assert_eq!(
            state.get::<String>("a").as_deref(),
            Some("of somebody else")
        );
        turns.push(said("1/c", "from c"));
        let AgentStep::Finish(text) = next(turns, &state) else {
            panic!("it is done");
        };
        assert_eq!(
            (text.as_str(), state.get::<String>("c").as_deref()),
            ("from c", Some("from c"))
        );
    }
}
