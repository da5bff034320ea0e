//! The record of a text agent's run, read for its next step.

use std::collections::BTreeMap;

use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::engine::effects::agent_secrets::Secrets;
use crate::engine::effects::run_of_agent::OnRecord;
use crate::engine::error::Error;
use crate::engine::task::parts::Stream;
use crate::engine::task::session_task::SessionTask;
use crate::session::{
    AgentCall, AgentTurn, Call, Decision, Event, FunctionCallReceived, Json, LlmPart, Observation,
    Outcome, Seq,
};
use crate::tool::{AgentTurnSoFar, LlmAnswer, LlmSaid, LlmTool, TextAgentTool};

impl SessionTask {
    /// Reads the record of an agent's run. None for a call whose tool is no agent.
    pub(super) fn on_record_of_agent(
        &self,
        seq: Seq,
    ) -> Option<BoxFuture<'_, Result<OnRecord, Error>>> {
        let call = self.stream.session.calls.get(&seq)?;
        let tool = self.agent.dispatcher.get(&call.name)?.text_agent()?;
        Some(Box::pin(self.read_run(call, tool)))
    }

    async fn read_run(&self, call: &Call, tool: &TextAgentTool) -> Result<OnRecord, Error> {
        let dispatcher = &self.agent.dispatcher;
        let mut names = tool.callable();
        names.sort_unstable();
        names.dedup();
        let tools = names.iter().filter_map(|name| dispatcher.get(name));
        let tools = tools.map(|tool| LlmTool::from(&tool.declaration()));
        let args = call.args.to_value();
        let request = args.get("request").and_then(Value::as_str);
        let mut on_record = OnRecord {
            request: request.unwrap_or_default().to_owned(),
            turns: Vec::new(),
            asked: None,
            tools: tools.collect(),
            secrets: Secrets::default(),
        };
        let run = call.agent.as_deref();
        for turn in run.iter().flat_map(|run| &run.turns) {
            let turn = self.turn_on_record(turn, &mut on_record.secrets).await?;
            on_record.turns.push(turn);
        }
        if let Some(asked) = run.and_then(|run| run.unanswered) {
            on_record.asked = Some(self.stream.asked_by(asked).await?.0);
        }
        Ok(on_record)
    }

    async fn turn_on_record(
        &self,
        turn: &AgentTurn,
        secrets: &mut Secrets,
    ) -> Result<AgentTurnSoFar, Error> {
        let (of, model) = self.stream.asked_by(turn.asked).await?;
        let mut parts = Vec::new();
        if let Some(recorded) = self.stream.recorded(turn.replied).await?
            && let Event::Observed(Observation::LlmReplied(it)) = &recorded.fact.event
        {
            parts.clone_from(&it.parts);
        }
        let (mut said, mut answers) = (Vec::new(), Vec::new());
        let mut made = turn.calls.iter();
        for LlmPart { text, signature } in parts {
            if let Some(text) = text {
                said.push(LlmSaid::Text { text, signature });
                continue;
            }
            let Some(made) = made.next() else {
                continue;
            };
            let received = self.stream.ledger.call_received(self.id, made.call).await?;
            if let Some(received) = &received {
                self.stream.note_secrets(&model, received, secrets);
            }
            let (id, name, args) = match received {
                Some(it) => (it.id, it.name, it.args),
                None => (None, None, None),
            };
            let name = name.unwrap_or_default();
            answers.push(LlmAnswer {
                id: id.clone(),
                name: name.clone(),
                response: self.answer_to(made, &name).await?,
            });
            said.push(LlmSaid::Call {
                id,
                name,
                args: args.unwrap_or_else(Json::empty_object),
                signature,
            });
        }
        Ok(AgentTurnSoFar { of, said, answers })
    }

    /// Returns the response that an agent's model gets for a call that it made.
    async fn answer_to(&self, made: &AgentCall, tool: &str) -> Result<Json, Error> {
        let shape = self.stream.session.terms.policies.response;
        let ended = made.ended.unwrap_or(made.call);
        let recorded = self.stream.recorded(ended).await?;
        let event = recorded.as_ref().map(|it| &it.fact.event);
        if let Some(Event::Decided(Decision::CallCancelled(it))) = event {
            return Ok(Json::of(&shape.error("cancelled", it.reason.in_words())));
        }
        if let Some(Event::Decided(Decision::ResponseIssued(it))) = event
            && is_success(it.outcome)
            && self.is_stream(tool)
            && !made.gave.is_empty()
        {
            let given = self.stream.given(&made.gave).await?;
            return Ok(Json::of_serialized(&BTreeMap::from([("output", given)])));
        }
        let body = self.stream.response_body(ended).await?;
        Ok(body.unwrap_or_else(Json::empty_object))
    }
}

impl Stream {
    /// Returns the agent and the model of a request to a model.
    async fn asked_by(&self, asked: Seq) -> Result<(String, String), Error> {
        if let Some(recorded) = self.recorded(asked).await?
            && let Event::Observed(Observation::LlmAsked(it)) = &recorded.fact.event
        {
            return Ok((it.of.clone(), it.model.clone()));
        }
        Ok(Default::default())
    }

    /// Adds the sealed arguments of a call in clear, for its model. If they cannot be opened, the
    /// model gets the recorded form.
    fn note_secrets(&self, model: &str, received: &FunctionCallReceived, secrets: &mut Secrets) {
        let (Some(name), Some(args)) = (&received.name, &received.args) else {
            return;
        };
        if !received.sealed_args.is_empty()
            && let Ok(clear) = self.opened_args(name, args, &received.sealed_args)
        {
            secrets.add(model.to_owned(), args.clone(), clear);
        }
    }

    /// Returns the results of a streaming tool.
    async fn given(&self, gave: &[Seq]) -> Result<Vec<Json>, Error> {
        let mut given = Vec::with_capacity(gave.len());
        for seq in gave {
            if let Some(recorded) = self.recorded(*seq).await?
                && let Event::Observed(Observation::ToolYielded(it)) = &recorded.fact.event
            {
                given.push(it.response.clone());
            }
        }
        Ok(given)
    }
}

/// True if a streaming tool yielded all its results.
fn is_success(outcome: Outcome) -> bool {
    match outcome {
        Outcome::Returned | Outcome::Supplied => true,
        Outcome::Interim
        | Outcome::Failed
        | Outcome::Refused
        | Outcome::Denied
        | Outcome::Expired
        | Outcome::TimedOut
        | Outcome::Cancelled
        | Outcome::Unknown
        | Outcome::Withdrawn => false,
    }
}
