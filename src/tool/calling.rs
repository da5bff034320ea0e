//! Calling a tool through its dispatcher: the same policies and events as in a live session, without one.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::pipeline::{Ended, Next, now};
use super::{
    ConfirmationRequest, Key, PolicyTool, ToolContext, ToolDispatcher, ToolError, ToolOutcome,
};
use crate::session::{
    Actor, Author, ConfirmationAnswered, Deadline, DeadlinePassed, Fact, Json, Observation,
    OperatorCancelled, Outcome, Seq, StateChanged, ToolPaused, ToolReturned, ToolYielded,
};

impl ToolDispatcher {
    /// Calls a tool and waits for its result: arguments are checked, policies hold, and everything is recorded, in memory.
    ///
    /// A dispatcher has a session of its own, which begins with the first call: cached results, limits, state and phases live
    /// in it, and a clone of the dispatcher begins another. A streaming tool gives all its results as one array. A
    /// long-running one gives what it says meanwhile, or `null`; nobody can answer such a call later, which takes an
    /// [engine](crate::Engine). For a pipeline with a journal see [`LiveHandle::call_function`](crate::LiveHandle::call_function).
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use recount::tool::{T, ToolDispatcher, ToolError};
    /// use serde_json::json;
    ///
    /// let mut tools = ToolDispatcher::new();
    /// tools.register(T::cached(T::simple("double", "Doubles", |args| async move {
    ///     let n = args["n"].as_i64().ok_or_else(|| ToolError::InvalidArgs("n is missing".into()))?;
    ///     Ok(json!(n * 2))
    /// })))?;
    /// assert_eq!(tools.call_function("double", json!({"n": 21})).await, Ok(json!(42)));
    /// assert_eq!(tools.call_function("double", json!({"n": 21})).await, Ok(json!(42)));
    /// let kinds: Vec<_> = tools.recorded().iter().map(|fact| fact.event.kind()).collect();
    /// assert_eq!(kinds.iter().filter(|kind| **kind == "tool_returned").count(), 1);
    /// assert!(kinds.contains(&"result_reused"));
    /// # Ok::<(), recount::tool::RegistrationError>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Why the call did not succeed, as a model would hear it.
    pub async fn call_function(&self, name: &str, args: Value) -> Result<Value, ToolError> {
        self.call(name, args, None, CancellationToken::new()).await
    }

    /// As [`call_function`](Self::call_function), with a time limit of its own for each run, in place of the tool's.
    ///
    /// # Errors
    /// [`ToolError::Timeout`] when a run took longer.
    pub async fn call_function_with_timeout(
        &self,
        name: &str,
        args: Value,
        limit: Duration,
    ) -> Result<Value, ToolError> {
        self.call(name, args, Some(limit), CancellationToken::new())
            .await
    }

    /// As [`call_function`](Self::call_function), until `cancel` fires: then the tool's future is dropped.
    ///
    /// # Errors
    /// [`ToolError::Cancelled`] when it fired.
    pub async fn call_function_with_cancel(
        &self,
        name: &str,
        args: Value,
        cancel: CancellationToken,
    ) -> Result<Value, ToolError> {
        let called = self.call(name, args, None, cancel.clone());
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ToolError::Cancelled("the call was cancelled".to_owned())),
            result = called => result,
        }
    }

    /// Everything that was recorded of the calls of this dispatcher, oldest first; of very many, the latest.
    #[must_use]
    pub fn recorded(&self) -> Vec<Fact> {
        self.pipeline.recorded()
    }

    async fn call(
        &self,
        name: &str,
        args: Value,
        limit: Option<Duration>,
        cancelled: CancellationToken,
    ) -> Result<Value, ToolError> {
        if !self.secret_arguments(name).is_empty() {
            let told = "a call with secret arguments takes an engine with a key store";
            return Err(ToolError::NotAvailable(told.to_owned()));
        }
        let invalid = self.check_arguments(name, &args).err();
        let text = Json::of(&args);
        let (seq, mut next) = self.pipeline.receive(self, name, text, invalid)?;
        let mut call = Call {
            tools: self,
            name,
            seq,
            args: Some(args),
            limit,
            cancelled,
            result: None,
            over: false,
        };
        loop {
            next = match next {
                Next::Run {
                    attempt,
                    limit: by_policy,
                } => call.run(attempt, call.limit.or(by_policy)).await?,
                Next::Ask { request } => call.ask(request).await?,
                Next::Again { attempt, wait } => {
                    tokio::time::sleep(wait).await;
                    let deadline = Deadline::Retry { call: seq, attempt };
                    call.passed(deadline)?
                }
                Next::Wait(woken) => woken
                    .await
                    .map_err(|_| ToolError::Other("nobody runs the call".to_owned()))?,
                Next::Paused(interim) => {
                    call.over = true;
                    return Ok(interim.map_or(Value::Null, |interim| interim.to_value()));
                }
                Next::Ended(ended) => {
                    call.over = true;
                    return call.ended(ended);
                }
            };
        }
    }
}

/// A call that is not over; dropped before its end, it is taken back on record.
struct Call<'a> {
    tools: &'a ToolDispatcher,
    name: &'a str,
    seq: Seq,
    args: Option<Value>,
    limit: Option<Duration>,
    cancelled: CancellationToken,
    /// What the last run gave, or why it did not.
    result: Option<Result<Value, ToolError>>,
    over: bool,
}

impl Call<'_> {
    async fn run(&mut self, attempt: u32, limit: Option<Duration>) -> Result<Next, ToolError> {
        let Some(tool) = self.tools.get(self.name) else {
            return Err(ToolError::NotFound(self.name.to_owned()));
        };
        let (session, state) = self.tools.pipeline.shared();
        let (call, cancelled) = (session.call_id(self.seq), self.cancelled.clone());
        let context = ToolContext::of_run(
            session,
            call,
            attempt,
            Key::Of(self.seq),
            cancelled,
            state.clone(),
        );
        // Only a call that may run again needs its arguments another time.
        let again = tool.policy().retry.is_some();
        let args = if again {
            self.args.clone()
        } else {
            self.args.take()
        };
        let mut yielded = Vec::new();
        let running = self.to_its_end(
            tool,
            args.unwrap_or_default(),
            context,
            attempt,
            &mut yielded,
        );
        let ended = match limit {
            Some(limit) => tokio::time::timeout(limit, running)
                .await
                .map_err(|_| limit),
            None => Ok(running.await),
        };
        let outcome = match ended {
            Ok(outcome) => outcome,
            Err(limit) => {
                self.result = Some(Err(ToolError::Timeout(limit)));
                let call = self.seq;
                return self.passed(Deadline::Run { call, attempt });
            }
        };
        let result = match outcome {
            ToolOutcome::Returned(Value::Null) if !yielded.is_empty() => Ok(Value::Array(yielded)),
            ToolOutcome::Returned(value) | ToolOutcome::Scheduled(value, _) => Ok(value),
            ToolOutcome::Failed(error) => Err(error),
            ToolOutcome::Paused(pending) => {
                let interim = pending.interim.as_ref().map(Json::of);
                let call = self.seq;
                return self.observe(ToolPaused {
                    call,
                    attempt,
                    interim,
                });
            }
        };
        let changes = state.take_changes();
        let (result, changes) = match (result, changes) {
            (Ok(value), Ok(changes)) => (Ok(value), changes),
            (Ok(_), Err(problem)) => (Err(ToolError::ExecutionFailed(problem)), Vec::new()),
            (Err(error), _) => (Err(error), Vec::new()),
        };
        let author = Author::Tool {
            call: self.seq,
            attempt,
        };
        let changed = (!changes.is_empty()).then_some(StateChanged { changes, author });
        let next =
            self.tools
                .pipeline
                .report(self.seq, changed, self.returned(attempt, &result), &result);
        self.result = Some(result);
        next
    }

    /// Runs the tool; each value of a streaming one is recorded before it runs on.
    async fn to_its_end(
        &self,
        tool: &PolicyTool,
        args: Value,
        context: ToolContext,
        attempt: u32,
        yielded: &mut Vec<Value>,
    ) -> ToolOutcome {
        let on_yield = |value: Value| {
            let call = self.seq;
            let response = Json::of(&crate::session::response::success_response(value.clone()));
            yielded.push(value);
            let recorded = self.tools.pipeline.observe(
                call,
                ToolYielded {
                    call,
                    attempt,
                    response,
                }
                .into(),
            );
            std::future::ready(recorded.map(drop))
        };
        tool.run(args, context, on_yield).await
    }

    /// Asks the dispatcher's provider, and records what it says.
    async fn ask(&self, request: Seq) -> Result<Next, ToolError> {
        let provider = self.tools.confirmation_provider();
        let asked = self.tools.pipeline.question(self.seq, request);
        let (Some(provider), Some((session, message, args))) = (provider, asked) else {
            return Err(ToolError::Cancelled("there is nobody to ask".to_owned()));
        };
        let question = ConfirmationRequest {
            id: session.request_id(request),
            session,
            tool_name: self.name.to_owned(),
            args: args.to_value(),
            args_text: args,
            message,
        };
        let answer = AssertUnwindSafe(provider.confirm(question))
            .catch_unwind()
            .await;
        let Ok(confirmation) = answer else {
            let told = "the confirmation provider panicked, so nobody agreed to the call";
            return Err(ToolError::Cancelled(told.to_owned()));
        };
        let answer = confirmation.into_answer();
        self.observe(ConfirmationAnswered {
            request,
            confirmed: answer.confirmed,
            reason: answer.reason,
            payload: answer.payload,
            by: Actor::embedder("confirmation provider"),
        })
    }

    fn passed(&self, deadline: Deadline) -> Result<Next, ToolError> {
        let due_us = now();
        self.observe(DeadlinePassed { deadline, due_us })
    }

    fn observe(&self, observation: impl Into<Observation>) -> Result<Next, ToolError> {
        self.tools.pipeline.observe(self.seq, observation.into())
    }

    fn returned(&self, attempt: u32, result: &Result<Value, ToolError>) -> ToolReturned {
        let shape = self.tools.terms().policies.response;
        let (response, error_kind) = match result {
            Ok(value) => (shape.success_text(value), None),
            Err(error) => {
                let response = Json::of(&shape.error(error.kind(), &error.to_string()));
                (response, Some(error.kind().to_owned()))
            }
        };
        ToolReturned {
            call: self.seq,
            attempt,
            failed: error_kind.is_some(),
            response,
            error_kind,
            scheduling: None,
        }
    }

    fn ended(&mut self, ended: Ended) -> Result<Value, ToolError> {
        let told = || {
            let response = ended.response.as_ref().map(Json::to_value);
            ToolError::of_response(&response.unwrap_or_default())
        };
        match ended.outcome {
            Outcome::Returned => match (ended.reused, self.result.take()) {
                (Some(value), None) => Ok(value),
                (_, Some(own)) => own,
                (None, None) => Err(told()),
            },
            Outcome::Failed | Outcome::TimedOut => {
                self.result.take().unwrap_or_else(|| Err(told()))
            }
            Outcome::Interim
            | Outcome::Supplied
            | Outcome::Refused
            | Outcome::Denied
            | Outcome::Expired
            | Outcome::Cancelled
            | Outcome::Unknown
            | Outcome::Withdrawn => Err(told()),
        }
    }
}

impl Drop for Call<'_> {
    /// Nobody waits for the call any more: whatever it still has running hears of it, and so do calls that wait for it.
    fn drop(&mut self) {
        if self.over {
            return;
        }
        self.cancelled.cancel();
        let (call, reason, by) = (self.seq, None, Actor::embedder(""));
        // Where even this cannot be recorded, nothing more can be done about it.
        let _ = self.observe(OperatorCancelled { call, reason, by });
    }
}
