//! The observations of a tool's reports, with the response as it will be sent.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::engine::agents::hooks::BeforeToolResponse;
use crate::session::{
    FunctionResponseScheduling, Json, Observation, ResponseShape, Seq, SessionId, ToolPaused,
    ToolReturned, ToolYielded,
};
use crate::tool::{
    DefaultResultFormatter, FunctionCall, ResultFormatter, State, ToolError, ToolOutcome,
    is_inexact, restored,
};

/// The context for reporting one run: its ids, its formatter, and the hook for its responses.
#[derive(Clone)]
pub(in crate::engine) struct Telling {
    pub(in crate::engine) session: SessionId,
    pub(in crate::engine) call: Seq,
    pub(in crate::engine) attempt: u32,
    /// The runner of the run. Two runners may have the same attempt, if that of the first had not
    /// begun.
    pub(in crate::engine) runner: Option<Seq>,
    pub(in crate::engine) name: String,
    pub(in crate::engine) wire_id: Option<String>,
    pub(in crate::engine) args: Json,
    pub(in crate::engine) background: Option<FunctionResponseScheduling>,
    pub(in crate::engine) is_stream: bool,
    pub(in crate::engine) shape: ResponseShape,
    pub(in crate::engine) formatter: Option<Arc<dyn ResultFormatter>>,
    pub(in crate::engine) before: Option<BeforeToolResponse>,
}

/// The end of a run, in recorded form.
pub(in crate::engine) struct Ended {
    pub(in crate::engine) call: Seq,
    pub(in crate::engine) attempt: u32,
    /// `tool_returned` or `tool_paused`.
    pub(in crate::engine) observation: Observation,
    /// True if the tool's writes are dropped.
    pub(in crate::engine) failed: bool,
    /// The state that the tool wrote.
    pub(in crate::engine) state: State,
    /// The state that the hook wrote when it saw the response.
    pub(in crate::engine) by_hook: Option<State>,
}

impl Ended {
    /// Adds the tool's request to end the session, if the tool returned.
    pub(in crate::engine) fn ending_session(mut self, reason: Option<&String>) -> Ended {
        if let Observation::ToolReturned(it) = &mut self.observation
            && !it.failed
        {
            it.ends_session = reason.cloned();
        }
        self
    }
}

impl Telling {
    /// Returns the call as a formatter sees it.
    fn called(&self) -> FunctionCall {
        FunctionCall {
            id: self.wire_id.clone(),
            name: self.name.clone(),
            args: self.args.to_value(),
        }
    }

    /// Returns the same context with the default formatter.
    pub(in crate::engine) fn in_default_words(self) -> Telling {
        Telling {
            formatter: None,
            ..self
        }
    }

    /// Returns the model's id of the call, or else its public id.
    pub(in crate::engine) fn id(&self) -> String {
        let own = || self.session.call_id(self.call).to_string();
        self.wire_id.clone().unwrap_or_else(own)
    }

    /// Returns the call and the attempt of the run.
    pub(in crate::engine) fn run(&self) -> (Seq, u32) {
        (self.call, self.attempt)
    }

    /// True if a hook changes the responses, which takes time.
    pub(in crate::engine) fn is_changed(&self) -> bool {
        self.before.is_some()
    }

    /// Returns the acknowledgement of a background call, before any hook.
    pub(in crate::engine) fn acknowledgement(&self) -> Json {
        let running = self.words(|formatter| formatter.format_running(&self.called()));
        Json::of(&self.shape.success(running, None))
    }

    /// Returns one streamed result, before any hook.
    pub(in crate::engine) fn chunk(&self, value: Value) -> Json {
        Json::of(&self.shape.success(value, None))
    }

    /// Returns the observation of a streamed result or an acknowledgement.
    pub(in crate::engine) fn yielded(&self, response: Json) -> ToolYielded {
        ToolYielded {
            call: self.call,
            attempt: self.attempt,
            runner: self.runner,
            response,
        }
    }

    /// Returns the response of a cancelled call.
    pub(in crate::engine) fn cancelled(&self) -> Json {
        let words = self.words(|formatter| formatter.format_cancelled(&self.id()));
        let silent = Some(FunctionResponseScheduling::Silent);
        Json::of(&self.shape.success(words, silent))
    }

    /// Returns a response as changed by the hook, if there is one.
    pub(in crate::engine) async fn changed(&self, response: Json, state: &State) -> Json {
        let Some(before) = &self.before else {
            return response;
        };
        let named = (self.name.clone(), self.wire_id.clone());
        before.of_one(named, response, state, self.shape).await
    }

    /// Returns the end of the run, in recorded form.
    pub(in crate::engine) async fn ended(&self, outcome: ToolOutcome, state: State) -> Ended {
        let (mut observation, failed) = self.worded(outcome);
        let mut by_hook = None;
        if self.is_changed() {
            let seen = state.over();
            if let Observation::ToolReturned(it) = &mut observation {
                it.response = Box::pin(self.changed(it.response.clone(), &seen)).await;
            } else if let Observation::ToolPaused(it) = &mut observation
                && let Some(interim) = it.interim.take()
            {
                it.interim = Some(Box::pin(self.changed(interim, &seen)).await);
            }
            by_hook = Some(seen);
        }
        Ended {
            call: self.call,
            attempt: self.attempt,
            observation,
            failed,
            state,
            by_hook,
        }
    }

    pub(in crate::engine) fn worded(&self, outcome: ToolOutcome) -> (Observation, bool) {
        match outcome {
            ToolOutcome::Returned(value) => self.returned(Ok(value), None),
            ToolOutcome::Text(text) => self.returned_text(&text),
            ToolOutcome::Scheduled(value, scheduling) => self.returned(Ok(value), Some(scheduling)),
            ToolOutcome::Failed(error) => self.returned(Err(error), None),
            ToolOutcome::Asked(ask) => (ask.recorded(self.call, self.attempt).into(), false),
            ToolOutcome::Paused(pending) => {
                let text = pending.interim_text;
                let interim = pending.interim.map(|value| match text {
                    Some(text) => self.shape.success_of_text(&text, None),
                    None => Json::of(&self.shape.success(value, None)),
                });
                let state = pending.state.as_ref().map(Json::of);
                let (call, attempt) = (self.call, self.attempt);
                let paused = ToolPaused {
                    call,
                    attempt,
                    interim,
                    state,
                };
                (paused.into(), false)
            }
        }
    }

    fn returned_text(&self, text: &Json) -> (Observation, bool) {
        let value = text.to_value();
        let (mut observation, failed) = self.returned(Ok(value.clone()), None);
        if let Observation::ToolReturned(it) = &mut observation {
            match self.background {
                // A formatter gets the parsed value. Parts that it repeats get their digits back
                // from the text.
                Some(_) if is_inexact(text) => {
                    it.response = restored(&it.response.to_value(), &value, text);
                }
                Some(_) => {}
                None => it.response = self.shape.success_of_text(text, None),
            }
        }
        (observation, failed)
    }

    fn returned(
        &self,
        result: Result<Value, ToolError>,
        scheduling: Option<FunctionResponseScheduling>,
    ) -> (Observation, bool) {
        let error_kind = result.as_ref().err().map(|error| error.kind().to_owned());
        let shape = self.shape;
        let response = match (self.background, result) {
            (Some(background), result) => {
                let when = match &result {
                    Ok(_) => scheduling.or(Some(background)),
                    Err(_) => Some(FunctionResponseScheduling::Silent),
                };
                let words = self.words(|formatter| match &result {
                    Err(ToolError::Cancelled(_)) => formatter.format_cancelled(&self.id()),
                    Ok(_) | Err(_) => formatter.format_result(&self.called(), result.clone()),
                });
                // The formatter makes the content; the agent's shape wraps it, as any other
                // response.
                shape.success(words, when)
            }
            (None, Ok(Value::Null)) if self.is_stream => {
                shape.success(json!({"status": "completed"}), scheduling)
            }
            (None, Ok(value)) => shape.success(value, scheduling),
            (None, Err(error)) => shape.error(error.kind(), &error.to_string()),
        };
        let failed = error_kind.is_some();
        let returned = ToolReturned {
            call: self.call,
            attempt: self.attempt,
            failed,
            response: Json::of(&response),
            error_kind,
            scheduling,
            ends_session: None,
        };
        (returned.into(), failed)
    }

    /// Returns the text of the chosen formatter, or of the default one if it panics. A formatter
    /// must not stop the session.
    pub(in crate::engine) fn words(&self, say: impl Fn(&dyn ResultFormatter) -> Value) -> Value {
        let Some(chosen) = &self.formatter else {
            return say(&DefaultResultFormatter);
        };
        let said = catch_unwind(AssertUnwindSafe(|| say(&**chosen)));
        said.unwrap_or_else(|_| {
            let (session, tool) = (self.session, &self.name);
            tracing::error!(%session, %tool, "the result formatter panicked");
            say(&DefaultResultFormatter)
        })
    }
}
