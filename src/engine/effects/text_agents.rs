//! Runs of text agents: the next step and its result.
//!
//! A run in the engine is one segment, in which an agent's model is called: from a start to a reply
//! with calls, or to the end. It resumes from the record, and records everything before it
//! continues. So a crash loses only a request to a model that has no reply yet.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures_util::FutureExt;
use tokio::sync::oneshot;

use super::agent_secrets::Opened;
use super::run_of_agent::OnRecord;
use super::start_guard::StartGuard;
use crate::engine::inputs::inbox::{Asks, Calls, Inbox, Input};
use crate::session::{Json, LlmAsked, LlmPart, LlmReplied, ObjectHash, Seq};
use crate::tool::{
    AgentAsk, AgentSoFar, AgentStep, AgentTurnSoFar, LlmError, LlmReply, LlmRequest, LlmSaid,
    State, TextAgent, TextAgentTool, ToolError, ToolOutcome,
};

/// One segment of an agent's run.
pub(in crate::engine) struct AgentSegment {
    pub(in crate::engine) tool: Arc<TextAgentTool>,
    pub(in crate::engine) on_record: OnRecord,
    pub(in crate::engine) call: Seq,
    pub(in crate::engine) attempt: u32,
    pub(in crate::engine) own: Inbox,
    pub(in crate::engine) guard: StartGuard,
}

/// The end of a segment that ends the call.
pub(in crate::engine) struct SegmentEnd {
    /// The last reply, which led to the end.
    pub(in crate::engine) replied: Option<LlmReplied>,
    pub(in crate::engine) outcome: ToolOutcome,
}

impl AgentSegment {
    /// Continues a run up to a reply with calls, which returns None here, or to its end.
    pub(in crate::engine) async fn go(self, state: &State) -> Option<SegmentEnd> {
        let mut turns = self.on_record.turns.clone();
        let (mut replied, mut asked) = (None, self.on_record.asked.clone());
        loop {
            let ask = match self.next(&turns, asked.take(), state) {
                AgentStep::Ask(ask) => ask,
                AgentStep::Finish(text) => {
                    let outcome = ToolOutcome::Returned(text.into());
                    return Some(SegmentEnd { replied, outcome });
                }
                AgentStep::Fail(why) => {
                    let outcome = ToolOutcome::Failed(ToolError::ExecutionFailed(why));
                    return Some(SegmentEnd { replied, outcome });
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
                // Over the recorded form, so that no key is needed to compute it, and no secret can
                // be guessed from it.
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
            // If it was not recorded, the run is over.
            on_record.await.ok()?;
            if !self.guard.may_begin() {
                return None;
            }
            // The call is inside a block, because a model may panic before it returns its future.
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

    /// Returns a reply in its recorded form, and the calls that it makes.
    pub(in crate::engine) fn reply(
        &self,
        turn: u32,
        reply: &LlmReply,
    ) -> (LlmReplied, Vec<LlmSaid>) {
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

fn failed(error: ToolError) -> SegmentEnd {
    SegmentEnd {
        replied: None,
        outcome: ToolOutcome::Failed(error),
    }
}

fn unreached(error: LlmError, opened: &Opened) -> ToolError {
    let told = opened.out_of(error.to_string());
    if error.is_asked_again() {
        ToolError::LlmUnavailable(told)
    } else {
        ToolError::ExecutionFailed(told)
    }
}

fn digest(request: &LlmRequest) -> ObjectHash {
    // A request always serializes to JSON.
    ObjectHash::of(&serde_json::to_vec(request).unwrap_or_default())
}
