//! What a tool's reports put on record: its response as it will be sent.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Value, json};

use super::task::SessionTask;
use crate::session::catalog::ToolKind;
use crate::session::{
    Author, Call, FunctionResponseScheduling, Json, Observation, Rejection, Seq, StateChanged,
    ToolPaused, ToolReturned, ToolYielded, fits,
};
use crate::tool::{
    DefaultResultFormatter, FunctionCall, ResultFormatter, State, ToolError, ToolOutcome,
};

impl SessionTask {
    /// What a tool's end puts on record: what it wrote to the state, and its outcome. What cannot be on record makes it a
    /// failure, of which the model is told; of a failed run nothing that it wrote is kept.
    pub(super) fn tool_ended(
        &self,
        call: Seq,
        attempt: u32,
        outcome: ToolOutcome,
        state: &State,
    ) -> Vec<Observation> {
        let failed = matches!(outcome, ToolOutcome::Failed(_));
        let written = match state.take_changes() {
            Ok(changes) if failed || changes.is_empty() => Ok(None),
            Ok(changes) => {
                let author = Author::Tool { call, attempt };
                fits(StateChanged { changes, author }.into()).map(Some)
            }
            Err(_) if failed => Ok(None),
            Err(problem) => Err(Rejection::UnfitState { problem }),
        };
        let ended = written.and_then(|written| {
            let ended = fits(self.outcome(call, attempt, outcome))?;
            Ok(written.into_iter().chain([ended]).collect())
        });
        ended.unwrap_or_else(|rejection| vec![self.unfit(call, attempt, &rejection)])
    }

    /// What one result of several puts on record. It must fit like any other; one that does not ends the call.
    pub(super) fn tool_yielded(&self, call: Seq, attempt: u32, value: Value) -> Observation {
        let response = Json::of(&self.agent.policies.response.success(value, None));
        let yielded = ToolYielded {
            call,
            attempt,
            response,
        };
        fits(yielded.into()).unwrap_or_else(|rejection| self.unfit(call, attempt, &rejection))
    }

    /// The acknowledgement of a call for which the model does not wait.
    pub(super) fn acknowledgement(&self, call: &Call) -> Value {
        self.worded(call, |formatter, call| formatter.format_running(call))
    }

    /// What the chosen formatter says of a call, or the default one where it panics: its words are not worth a session.
    fn worded(
        &self,
        call: &Call,
        say: impl Fn(&dyn ResultFormatter, &FunctionCall) -> Value,
    ) -> Value {
        let called = function_call(call);
        let Some(chosen) = self.agent.formatters.get(&call.name) else {
            return say(&DefaultResultFormatter, &called);
        };
        let said = catch_unwind(AssertUnwindSafe(|| say(&**chosen, &called)));
        said.unwrap_or_else(|_| {
            tracing::error!(session = %self.id, tool = %call.name, "the result formatter panicked");
            say(&DefaultResultFormatter, &called)
        })
    }

    fn unfit(&self, call: Seq, attempt: u32, rejection: &Rejection) -> Observation {
        let told = if let Rejection::TooLarge { .. } = rejection {
            format!("the result is too large: {rejection}")
        } else {
            format!("what the tool gave cannot be on record: {rejection}")
        };
        let failed = ToolOutcome::Failed(ToolError::ExecutionFailed(told));
        self.outcome(call, attempt, failed)
    }

    fn outcome(&self, call: Seq, attempt: u32, outcome: ToolOutcome) -> Observation {
        match outcome {
            ToolOutcome::Returned(value) => self.returned(call, attempt, Ok(value), None),
            ToolOutcome::Scheduled(value, scheduling) => {
                self.returned(call, attempt, Ok(value), Some(scheduling))
            }
            ToolOutcome::Failed(error) => self.returned(call, attempt, Err(error), None),
            ToolOutcome::Paused(pending) => {
                let shape = self.agent.policies.response;
                let interim = pending.interim;
                let interim = interim.map(|value| Json::of(&shape.success(value, None)));
                ToolPaused {
                    call,
                    attempt,
                    interim,
                }
                .into()
            }
        }
    }

    fn returned(
        &self,
        call: Seq,
        attempt: u32,
        result: Result<Value, ToolError>,
        scheduling: Option<FunctionResponseScheduling>,
    ) -> Observation {
        let error_kind = result.as_ref().err().map(|error| error.kind().to_owned());
        let shape = self.agent.policies.response;
        let (seq, open) = (call, self.session.calls.get(&call).map(Box::as_ref));
        let response = match (open.filter(|call| call.background.is_some()), result) {
            (Some(call), result) => {
                let own = self.id.call_id(seq).to_string();
                let id = call.wire_id.as_deref().unwrap_or(&own);
                let when = match &result {
                    Ok(_) => scheduling.or(call.background),
                    Err(_) => Some(FunctionResponseScheduling::Silent),
                };
                let words = self.worded(call, |formatter, call| match &result {
                    Err(ToolError::Cancelled(_)) => formatter.format_cancelled(id),
                    Ok(_) | Err(_) => formatter.format_result(call, result.clone()),
                });
                // The words are a formatter's, the wrapping is the agent's, as of every other answer.
                shape.success(words, when)
            }
            (None, Ok(Value::Null)) if self.is_stream(open) => {
                shape.success(json!({"status": "completed"}), scheduling)
            }
            (None, Ok(value)) => shape.success(value, scheduling),
            (None, Err(error)) => shape.error(error.kind(), &error.to_string()),
        };
        ToolReturned {
            call,
            attempt,
            failed: error_kind.is_some(),
            response: Json::of(&response),
            error_kind,
            scheduling,
        }
        .into()
    }

    /// Whether the call's results came one by one, so that its end carries none.
    fn is_stream(&self, call: Option<&Call>) -> bool {
        let tool = call.and_then(|call| self.agent.dispatcher.get(&call.name));
        tool.is_some_and(|tool| match tool.kind() {
            ToolKind::Streaming | ToolKind::InputStreaming => true,
            ToolKind::Function | ToolKind::LongRunning | ToolKind::ServerSide => false,
        })
    }
}

fn function_call(call: &Call) -> FunctionCall {
    FunctionCall {
        id: call.wire_id.clone(),
        name: call.name.clone(),
        args: call.args.to_value(),
    }
}
