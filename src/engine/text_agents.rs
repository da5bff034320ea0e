//! Runs of text agents: the next step, and what comes of it.
//!
//! A run in the engine is one stretch in which an agent's model is asked: from a start to a reply with calls, or to the end. It begins
//! with what is on record and puts everything on record before it goes on, so nothing is lost with its process but a question that
//! has no reply yet.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures_util::FutureExt;
use tokio::sync::oneshot;

use super::agent::Agent;
use super::agent_secrets::Opened;
use super::error::Error;
use super::inbox::{Inbox, Input};
#[cfg(feature = "live")]
use super::live::LiveBuilder;
use super::message_limit;
use super::outcomes::Ended;
use super::run_of_agent::OnRecord;
use super::task::SessionTask;
use crate::session::{
    Author, Call, FunctionCallReceived, Json, LlmAsked, LlmPart, LlmReplied, MalformedArgs,
    ObjectHash, Observation, Rejection, Seq, StateChanged, fits, fits_state,
};
use crate::tool::{
    AgentAsk, AgentSoFar, AgentStep, AgentTurnSoFar, LlmError, LlmReply, LlmRequest, LlmSaid,
    State, T, TextAgent, TextAgentTool, ToolError, ToolOutcome,
};

impl Agent {
    /// Adds a text agent that the model calls by name; see [`TextAgentTool`].
    ///
    /// ```
    /// use recount::prelude::*;
    /// use recount::tool::{LlmAgent, LlmReply, ScriptedLlm};
    ///
    /// let verifier = LlmAgent::new("verifier", ScriptedLlm::new([LlmReply::text("It is Ada.")]));
    /// let agent = Agent::new()
    ///     .model("gemini-3.8-live")
    ///     .agent_tool("verify_identity", "Verifies a caller's identity", verifier);
    /// # let _ = agent;
    /// ```
    pub fn agent_tool(
        self,
        name: impl Into<String>,
        description: impl Into<String>,
        agent: impl TextAgent,
    ) -> Agent {
        self.tools(T::agent(name, description, agent))
    }
}

#[cfg(feature = "live")]
impl LiveBuilder {
    /// Adds a text agent that the model calls by name; see [`Agent::agent_tool`].
    pub fn agent_tool(
        mut self,
        name: impl Into<String>,
        description: impl Into<String>,
        agent: impl TextAgent,
    ) -> LiveBuilder {
        self.agent = self.agent.agent_tool(name, description, agent);
        self
    }
}

/// What a run puts on record with its next question, or its end.
pub(super) struct Asks {
    /// The reply before, where that made no calls.
    pub(super) replied: Option<LlmReplied>,
    pub(super) asked: LlmAsked,
    /// What the agent wrote.
    pub(super) state: State,
}

/// A reply that makes calls.
pub(super) struct Calls {
    pub(super) replied: LlmReplied,
    pub(super) calls: Vec<LlmSaid>,
}

/// One stretch of a run, on its way.
pub(super) struct Stretch {
    pub(super) tool: Arc<TextAgentTool>,
    pub(super) on_record: OnRecord,
    pub(super) call: Seq,
    pub(super) attempt: u32,
    pub(super) own: Inbox,
}

impl SessionTask {
    /// Puts on record that the model of an agent is about to be asked, and only then lets it be.
    pub(super) async fn agent_asks(
        &mut self,
        asks: Asks,
        recorded: oneshot::Sender<()>,
    ) -> Result<(), Error> {
        let (call, attempt) = (asks.asked.call, asks.asked.attempt);
        let fitting = self.asked_on_record(asks);
        match fitting {
            Ok(observations) => {
                self.record(observations).await?;
                if self.runs(call, attempt) {
                    // The run may have been stopped meanwhile.
                    let _ = recorded.send(());
                }
                Ok(())
            }
            Err(rejection) => {
                let ended = self.unfit(call, attempt, &rejection);
                self.record(ended).await
            }
        }
    }

    fn asked_on_record(&self, asks: Asks) -> Result<Vec<Observation>, Rejection> {
        let (call, attempt) = (asks.asked.call, asks.asked.attempt);
        let mut observations = Vec::new();
        if let Some(replied) = asks.replied {
            observations.push(fits(replied.into())?);
        }
        let changes = asks.state.take_changes();
        let changes = changes.map_err(|problem| Rejection::UnfitState { problem })?;
        if !changes.is_empty() && self.runs(call, attempt) {
            let author = Author::Tool { call, attempt };
            let changed = StateChanged { changes, author };
            observations.push(fits_state(&self.session, changed)?);
        }
        observations.push(fits(asks.asked.into())?);
        Ok(observations)
    }

    /// Puts a reply on record with the calls that it makes: one batch, as a frame of the conversation is.
    pub(super) async fn agent_calls(&mut self, it: Calls) -> Result<(), Error> {
        let (call, attempt) = (it.replied.call, it.replied.attempt);
        let mut observations = vec![it.replied.into()];
        // What a run says that is over is on record, because it was paid for, and leads to nothing.
        if self.runs(call, attempt) {
            let calls = it.calls.into_iter();
            observations.extend(calls.filter_map(|said| self.called_by(call, said)));
            let max = self.session.terms.policies.calls_per_message_max;
            message_limit::mark(max, &mut observations);
        }
        self.seal_secrets(&mut observations).await?;
        let fitting: Result<Vec<_>, Rejection> = observations.into_iter().map(fits).collect();
        let observations =
            fitting.unwrap_or_else(|rejection| self.unfit(call, attempt, &rejection));
        self.record(observations).await
    }

    fn called_by(&self, parent: Seq, said: LlmSaid) -> Option<Observation> {
        let LlmSaid::Call { id, name, args, .. } = said else {
            return None;
        };
        let malformed = (!args.is_object()).then(|| MalformedArgs {
            text: args.as_str().to_owned(),
            problem: "expected a JSON object of arguments".to_owned(),
        });
        let dispatcher = &self.agent.dispatcher;
        let check = || dispatcher.check_text(&name, &args, &[]).err();
        let received = FunctionCallReceived {
            epoch: Seq(0),
            id,
            invalid_args: malformed.is_none().then(check).flatten(),
            args: malformed.is_none().then_some(args),
            malformed_args: malformed,
            sealed_args: Vec::new(),
            original_args: None,
            name: Some(name),
            by: None,
            parent: Some(parent),
            beyond_max: None,
        };
        Some(received.into())
    }

    /// Puts the end of a run on record, and the reply that it came with.
    pub(super) async fn agent_ended(
        &mut self,
        replied: Option<LlmReplied>,
        ended: Ended,
    ) -> Result<(), Error> {
        let (call, attempt) = (ended.call, ended.attempt);
        let ended = self.tool_ended(ended);
        let observations = match replied.map(|it| fits(it.into())) {
            Some(Ok(replied)) => [replied].into_iter().chain(ended).collect(),
            Some(Err(rejection)) => self.unfit(call, attempt, &rejection),
            None => ended,
        };
        self.record(observations).await
    }

    fn runs(&self, call: Seq, attempt: u32) -> bool {
        let runs = |it: &Call| it.runs() && it.attempts == attempt;
        self.attached.is_some() && self.session.calls.get(&call).is_some_and(runs)
    }
}

/// How a stretch of a run came to its end, where that is the end of the call.
pub(super) struct Came {
    /// The last reply, which led there.
    pub(super) replied: Option<LlmReplied>,
    pub(super) outcome: ToolOutcome,
}

impl Stretch {
    /// Goes on with a run: up to a reply with calls, of which nothing comes back here, or to its end.
    pub(super) async fn go(self, state: &State) -> Option<Came> {
        let mut turns = self.on_record.turns.clone();
        let (mut replied, mut asked) = (None, self.on_record.asked.clone());
        loop {
            let ask = match self.next(&turns, asked.take(), state) {
                AgentStep::Ask(ask) => ask,
                AgentStep::Finish(text) => {
                    let outcome = ToolOutcome::Returned(text.into());
                    return Some(Came { replied, outcome });
                }
                AgentStep::Fail(why) => {
                    let outcome = ToolOutcome::Failed(ToolError::ExecutionFailed(why));
                    return Some(Came { replied, outcome });
                }
            };
            let turn = u32::try_from(turns.len() + 1).unwrap_or(u32::MAX);
            let AgentAsk { of, llm, request } = ask;
            let model = llm.model().to_owned();
            let question = LlmAsked {
                call: self.call,
                attempt: self.attempt,
                turn,
                of: of.clone(),
                model: model.clone(),
                // Of what is on record, so that nobody needs a key to compute it, and no secret is guessed from it.
                request_sha256: digest(&request),
            };
            let state = state.clone();
            let (recorded, on_record) = oneshot::channel();
            let asks = Asks {
                replied: replied.take(),
                asked: question,
                state,
            };
            let _ = self.own.send(Input::AgentAsks(asks, recorded));
            // Where it is not on record, nobody waits for this run any more.
            on_record.await.ok()?;
            // The call stands inside a block, because a model may panic before it returns its future.
            let (request, opened) = self.on_record.secrets.in_clear(request, &model);
            let asking = async { llm.generate(request).await };
            let outcome = AssertUnwindSafe(asking).catch_unwind().await;
            let reply = match outcome {
                Ok(Ok(reply)) => reply,
                Ok(Err(error)) => return Some(failed(unreached(error, &opened))),
                Err(_) => {
                    let told = format!("the model of the agent {of:?} panicked");
                    return Some(failed(ToolError::ExecutionFailed(told)));
                }
            };
            let (said_now, calls) = self.reply(turn, &reply);
            if !calls.is_empty() {
                let replied = said_now;
                let _ = self.own.send(Input::AgentCalls(Calls { replied, calls }));
                return None;
            }
            replied = Some(said_now);
            turns.push(AgentTurnSoFar {
                of,
                said: reply.said,
                answers: Vec::new(),
            });
        }
    }

    fn next(&self, turns: &[AgentTurnSoFar], asked: Option<String>, state: &State) -> AgentStep {
        let run = AgentSoFar {
            request: self.on_record.request.clone(),
            turns: turns.to_vec(),
            asked,
            tools: &self.on_record.tools,
            state,
        };
        let agent = self.tool.agent();
        let step = catch_unwind(AssertUnwindSafe(|| agent.next(&run)));
        step.unwrap_or_else(|_| AgentStep::Fail(format!("the agent {:?} panicked", agent.name())))
    }

    /// A reply as it goes on record, and the calls that it makes.
    fn reply(&self, turn: u32, reply: &LlmReply) -> (LlmReplied, Vec<LlmSaid>) {
        let part = |said: &LlmSaid| match said {
            LlmSaid::Text { text, signature } => LlmPart {
                text: Some(text.clone()),
                signature: signature.clone(),
            },
            LlmSaid::Call { signature, .. } => LlmPart {
                text: None,
                signature: signature.clone(),
            },
        };
        let replied = LlmReplied {
            call: self.call,
            attempt: self.attempt,
            turn,
            parts: reply.said.iter().map(part).collect(),
            usage: reply.usage.as_ref().map(Json::of),
        };
        let is_call = |said: &&LlmSaid| match said {
            LlmSaid::Call { .. } => true,
            LlmSaid::Text { .. } => false,
        };
        let calls = reply.said.iter().filter(is_call).cloned().collect();
        (replied, calls)
    }
}

fn failed(error: ToolError) -> Came {
    Came {
        replied: None,
        outcome: ToolOutcome::Failed(error),
    }
}

fn unreached(error: LlmError, opened: &Opened) -> ToolError {
    match error {
        LlmError::Unavailable(told) => ToolError::LlmUnavailable(opened.out_of(told)),
        LlmError::Refused(told) => ToolError::ExecutionFailed(opened.out_of(told)),
    }
}

fn digest(request: &LlmRequest) -> ObjectHash {
    // What is asked always writes itself as JSON.
    ObjectHash::of(&serde_json::to_vec(request).unwrap_or_default())
}
