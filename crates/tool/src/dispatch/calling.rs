//! Calls of a tool through its dispatcher, with the policies and events of a live session.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use recount_session::{
    Author, ConfirmationRequested, Deadline, DeadlinePassed, Fact, Hook, HookAnswered, Json,
    Observation, Seq, StateChanged, Timestamp, ToolPaused, ToolYielded,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::dispatcher::ToolDispatcher;
use super::next::{Due, Next, Start};
use super::provider_asker::{ProviderAsker, Question, answer_of};
use crate::approval::answering::Asked;
use crate::run::context::{Identity, ToolContext};
use crate::run::error::ToolError;
use crate::run::outcome::{Ask, ToolOutcome};
use crate::run::state::State;
use crate::run::tool_event::Emitter;
use crate::tools::policy_tool::PolicyTool;
use crate::tools::predicate::verdict;
use recount_session::ToolConfirmation;

impl ToolDispatcher {
    /// Calls a tool and waits for its result.
    ///
    /// Arguments are checked, policies apply, and every event is recorded in memory. A dispatcher
    /// has a session of its own, which begins with the first call. Cached results, limits, state
    /// and phases live in this session; a clone of the dispatcher begins another one. A streaming
    /// tool returns all its results as one array. A long-running tool returns its interim value or
    /// `null`: only an engine (`Engine`) can receive the result of such a call later. For calls
    /// with a journal see `LiveHandle::call_function`.
    ///
    /// ```
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    /// # runtime.unwrap().block_on(async {
    /// use recount_tool::{T, ToolDispatcher, ToolError};
    /// use serde_json::json;
    ///
    /// let mut tools = ToolDispatcher::new();
    /// tools.register(T::cached(T::simple("double", "Doubles", |args| async move {
    ///     let n = args["n"]
    ///         .as_i64()
    ///         .ok_or_else(|| ToolError::InvalidArgs("n is missing".into()))?;
    ///     Ok(json!(n * 2))
    /// })))?;
    /// assert_eq!(tools.call_function("double", json!({"n": 21})).await, Ok(json!(42)));
    /// assert_eq!(tools.call_function("double", json!({"n": 21})).await, Ok(json!(42)));
    /// let kinds: Vec<_> = tools.recorded().iter().map(|fact| fact.event.kind()).collect();
    /// assert_eq!(kinds.iter().filter(|kind| **kind == "tool_returned").count(), 1);
    /// assert!(kinds.contains(&"result_reused"));
    /// # Ok::<(), recount_tool::RegistrationError>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// The reason why the call did not succeed, as a model would receive it.
    pub async fn call_function(&self, name: &str, args: Value) -> Result<Value, ToolError> {
        self.call(name, args, None, None).await
    }

    /// Calls a tool like [`call_function`](Self::call_function), with a time limit for each run
    /// that replaces the tool's.
    ///
    /// # Errors
    /// [`ToolError::Timeout`] if a run took longer.
    pub async fn call_function_with_timeout(
        &self,
        name: &str,
        args: Value,
        limit: Duration,
    ) -> Result<Value, ToolError> {
        self.call(name, args, Some(limit), None).await
    }

    /// Calls a tool like [`call_function`](Self::call_function), until `cancel` fires.
    ///
    /// Then the tool's future is dropped, and the token of its [`ToolContext`] fires, so that work
    /// which the tool has started elsewhere can stop. If `cancel` has fired before, nothing runs
    /// and nothing is recorded. The dispatcher never fires `cancel`, so one token may serve many
    /// calls.
    ///
    /// # Errors
    /// [`ToolError::Cancelled`] if `cancel` fired.
    pub async fn call_function_with_cancel(
        &self,
        name: &str,
        args: Value,
        cancel: CancellationToken,
    ) -> Result<Value, ToolError> {
        let called = self.call(name, args, None, Some(&cancel));
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ToolError::Cancelled("the call was cancelled".to_owned())),
            result = called => result,
        }
    }

    /// Returns the recorded events of this dispatcher's calls, oldest first. Only the latest are
    /// kept.
    #[must_use]
    pub fn recorded(&self) -> Vec<Fact> {
        self.pipeline.recorded()
    }

    /// Runs a call. No `async fn`, whose future would hold the parameters twice.
    fn call<'a>(
        &'a self,
        name: &'a str,
        args: Value,
        limit: Option<Duration>,
        cancel: Option<&'a CancellationToken>,
    ) -> impl Future<Output = Result<Value, ToolError>> + Send + 'a {
        let mut call = Call {
            tools: self,
            name,
            seq: Seq(0),
            args: Some(args),
            text: None,
            limit,
            cancel,
            asked: None,
            confirmation: None,
            result: None,
            over: true,
        };
        async move {
            let mut next = call.receive()?;
            loop {
                next = match next {
                    Next::Run(start) => call.run(start).await?,
                    // Boxed, because few calls ask or wait: it keeps the future of all other calls
                    // small.
                    Next::Ask {
                        request,
                        question,
                        at,
                        expires,
                    } => Box::pin(call.ask(request, *question, at, expires)).await?,
                    Next::Verdict(seen) => Box::pin(call.verdict(seen)).await?,
                    Next::Retry { attempt, due } => {
                        Box::pin(tokio::time::sleep(due.wait)).await;
                        call.retry(attempt, due)?
                    }
                    Next::Wait(woken) => woken
                        .await
                        .map_err(|_| ToolError::Other("nobody runs the call".to_owned()))?,
                    Next::Paused(interim) => return Ok(call.interim_value(interim)),
                    Next::Ended(ended) => return call.finish(ended),
                };
            }
        }
    }
}

/// A call. Dropping it before its end records a cancellation.
pub(super) struct Call<'a> {
    pub(super) tools: &'a ToolDispatcher,
    pub(super) name: &'a str,
    pub(super) seq: Seq,
    pub(super) args: Option<Value>,
    /// The JSON text of the arguments, if the call received text.
    pub(super) text: Option<Json>,
    pub(super) limit: Option<Duration>,
    /// The caller's token. The caller may share it between calls, so nothing here fires it.
    pub(super) cancel: Option<&'a CancellationToken>,
    /// The question of the tool, with the state from which the tool resumes.
    pub(super) asked: Option<Box<Ask>>,
    /// The approver's answer.
    pub(super) confirmation: Option<Box<ToolConfirmation>>,
    /// The result of the last run.
    pub(super) result: Option<Result<Value, ToolError>>,
    /// True before the call is received and after its end: dropping it records nothing.
    pub(super) over: bool,
}

impl Call<'_> {
    /// Checks and records the call; returns its first step.
    fn receive(&mut self) -> Result<Next, ToolError> {
        let (tools, name) = (self.tools, self.name);
        if !tools.secret_arguments(name).is_empty() {
            let reason = "a call with secret arguments takes an engine with a key store";
            return Err(ToolError::NotAvailable(reason.to_owned()));
        }
        if tools
            .get(name)
            .is_some_and(|tool| tool.kind().runs_at_client())
        {
            let reason = "a call that clients run takes an engine, from which they claim it";
            return Err(ToolError::NotAvailable(reason.to_owned()));
        }
        let args = self.args.take().unwrap_or_default();
        let text = Json::of(&args);
        // Some models send their arguments as text, which programs pass on unchanged.
        let in_text = if args.is_string() {
            text.object_in_text()
        } else {
            None
        };
        let (args, texts) = match in_text {
            Some(object) => (object.to_value(), (object, Some(text))),
            None => (args, (text, None)),
        };
        let invalid = if texts.1.is_some() {
            self.text = Some(texts.0.clone());
            tools.check_text(name, &texts.0, &[]).err()
        } else {
            // A value made by the program is equal to its text.
            tools.check_arguments(name, &args).err()
        };
        let (seq, next) = tools.pipeline.receive(tools, name, texts, invalid)?;
        (self.seq, self.args, self.over) = (seq, Some(args), false);
        Ok(next)
    }

    async fn run(&mut self, start: Start) -> Result<Next, ToolError> {
        let Start {
            attempt,
            started,
            limit,
            seen,
        } = start;
        let limit = self.limit.or(limit);
        let Some(tool) = self.tools.get(self.name) else {
            return Err(ToolError::NotFound(self.name.to_owned()));
        };
        let call = self.seq;
        if self.confirmation.is_some()
            && let Some(problem) = Box::pin(self.changed_since_approved()).await
        {
            let returned = self.return_record(attempt, &Err(problem.clone()), None);
            self.result = Some(Err(problem));
            return self
                .tools
                .pipeline
                .report(call, None, returned.into(), None);
        }
        let pipeline = &self.tools.pipeline;
        let state = pipeline.state(seen);
        // Fires the token of the context at the end of the run, however it ends, as an engine does.
        let over = self
            .cancel
            .map_or_else(CancellationToken::new, CancellationToken::child_token)
            .drop_guard();
        let mut yielded = Vec::new();
        let ended = {
            let asker = pipeline.asker(self.tools, self.name, call);
            let token = over.token().clone();
            let context = self.context(attempt, token, state.clone(), asker.clone());
            let args = self.args_of_run(tool);
            let on_yield = |value: Value| {
                let response = recount_session::response::success_response(value.clone());
                yielded.push(value);
                let yielded = ToolYielded {
                    call,
                    attempt,
                    runner: None,
                    response: Json::of(&response),
                };
                std::future::ready(pipeline.note(call, yielded.into()))
            };
            let running = tool.run(args, context, on_yield);
            match (limit, asker) {
                // Boxed, because few dispatchers have a provider: it keeps the future of all others
                // small.
                (Some(limit), Some(asker)) => {
                    Box::pin(asker.within(limit, running)).await.ok_or(limit)
                }
                (Some(limit), None) => tokio::time::timeout(limit, running)
                    .await
                    .map_err(|_| limit),
                (None, _) => Ok(running.await),
            }
        };
        let outcome = match ended {
            Ok(outcome) => outcome,
            // The record has the tool's own limit only, so the caller's limit is part of the
            // failure.
            Err(limit) if self.limit.is_some() => ToolOutcome::Failed(ToolError::Timeout(limit)),
            Err(limit) => {
                self.result = Some(Err(ToolError::Timeout(limit)));
                return self.passed(Deadline::Run { call, attempt }, started.after(limit));
            }
        };
        // A failed run keeps none of its state changes.
        let (outcome, changes) = match (outcome, state.take_changes()) {
            (failed @ ToolOutcome::Failed(_), _) => (failed, Vec::new()),
            (outcome, Ok(changes)) => (outcome, changes),
            (_, Err(problem)) => (Err(ToolError::ExecutionFailed(problem)).into(), Vec::new()),
        };
        let author = Author::Tool { call, attempt };
        let changed = (!changes.is_empty()).then_some(StateChanged { changes, author });
        let pipeline = &self.tools.pipeline;
        let mut printed = None;
        let (result, scheduling) = match outcome {
            ToolOutcome::Text(text) => {
                let value = text.to_value();
                printed = Some(text);
                (Ok(value), None)
            }
            ToolOutcome::Returned(_) if tool.kind().is_streaming() => {
                (Ok(Value::Array(yielded)), None)
            }
            ToolOutcome::Returned(value) => (Ok(value), None),
            ToolOutcome::Scheduled(value, scheduling) => (Ok(value), Some(scheduling)),
            ToolOutcome::Failed(error) => (Err(error), None),
            ToolOutcome::Asked(ask) => {
                let asked = ask.recorded(call, attempt);
                self.asked = Some(Box::new(ask));
                return pipeline.report(call, changed, asked.into(), None);
            }
            ToolOutcome::Paused(pending) => {
                let value = pending.interim.as_ref().map(Json::of);
                let interim = pending.interim_text.clone().or(value);
                let state = pending.state.as_ref().map(Json::of);
                let paused = ToolPaused {
                    call,
                    attempt,
                    interim,
                    state,
                };
                return pipeline.report(call, changed, paused.into(), None);
            }
        };
        let mut returned = self.return_record(attempt, &result, scheduling);
        if let Some(text) = printed {
            let shape = self.tools.terms().policies.response;
            returned.response = shape.success_of_text(&text, None);
        }
        let next = pipeline.report(call, changed, returned.into(), result.as_ref().ok());
        self.result = Some(result);
        next
    }

    /// Returns an error if an approved tool would run something else than at its registration.
    async fn changed_since_approved(&self) -> Option<ToolError> {
        let approved = self.tools.terms().catalog.get(self.name)?;
        let approved = approved.implementation.clone()?;
        let tool = self.tools.shared(self.name)?;
        tool.still_runs(approved).await.err()
    }

    fn context(
        &self,
        attempt: u32,
        cancelled: CancellationToken,
        state: State,
        asker: Option<Arc<ProviderAsker>>,
    ) -> ToolContext {
        let pipeline = &self.tools.pipeline;
        let identity = Identity::Of(self.seq);
        let context = ToolContext::of_run(pipeline.session(), attempt, identity, cancelled, state)
            .with_services(self.tools.services.clone())
            .with_emitter(match asker {
                Some(asker) => Emitter::new(asker, self.seq, attempt),
                None => pipeline.emitter(self.seq, attempt),
            });
        let said = self.confirmation.as_deref().cloned();
        let context = said
            .into_iter()
            .fold(context, ToolContext::with_confirmation);
        let Some(ask) = self.asked.as_deref() else {
            let text = self.text.clone().into_iter();
            return text.fold(context, ToolContext::with_args);
        };
        // A resumed tool receives its arguments only through the context.
        let args = pipeline.asked_about(self.seq).into_iter();
        args.fold(context, ToolContext::with_args)
            .resuming(ask.state.clone())
    }

    /// Returns the arguments, cloned only if the tool has a retry policy.
    fn args_of_run(&mut self, tool: &PolicyTool) -> Value {
        let args = match tool.policy().retry {
            Some(_) => self.args.clone(),
            None => self.args.take(),
        };
        args.unwrap_or_default()
    }

    /// Asks the dispatcher's provider, and records its answer or the expiry of the request.
    async fn ask(
        &mut self,
        request: Seq,
        asked: ConfirmationRequested,
        at: Timestamp,
        expires: Option<Due>,
    ) -> Result<Next, ToolError> {
        let provider = self.tools.confirmation_provider();
        let args = self.tools.pipeline.asked_about(self.seq);
        let (Some(provider), Some(args)) = (provider, args) else {
            let reason = "it must be confirmed first, and there is no approver to ask";
            return Err(ToolError::Cancelled(reason.to_owned()));
        };
        let hint = asked.hint.clone();
        let tool = self.tools.get(self.name);
        let question = Question {
            session: self.tools.pipeline.session(),
            request,
            tool_name: self.name,
            asked: Asked {
                question: &asked,
                hash: None,
                args: &args,
                sealed: &[],
                parameters: self.tools.parameters(self.name),
            },
            may_edit: tool.is_some_and(|it| it.policy().gate_terms.edits.is_some()),
            at,
            expires,
        };
        let Some(answered) = answer_of(&**provider, question).await? else {
            let (call, due) = (self.seq, expires.map(|due| due.at));
            let deadline = Deadline::Confirmation { call, request };
            return self.passed(deadline, due.unwrap_or_default());
        };
        if let Some(edited) = answered.edited_args.as_ref().filter(|_| answered.confirmed) {
            (self.args, self.text) = (Some(edited.to_value()), Some(edited.clone()));
        }
        self.confirmation = Some(Box::new(ToolConfirmation::recorded(answered.clone(), hint)));
        self.observe(answered)
    }

    /// Asks the tool's predicates whether the call needs an approval.
    async fn verdict(&self, seen: Arc<BTreeMap<String, Json>>) -> Result<Next, ToolError> {
        let Some(tool) = self.tools.get(self.name) else {
            return Err(ToolError::NotFound(self.name.to_owned()));
        };
        let state = self.tools.pipeline.state(seen);
        let said = verdict(tool, self.args.clone().unwrap_or_default(), state).await;
        let problem = said.err();
        self.observe(HookAnswered {
            hook: Hook::ConfirmWhen,
            call: self.seq,
            of: None,
            response: None,
            failure: problem.map(|it| format!("the predicate of the gate failed: {it}")),
            gated: said.ok(),
            by: None,
        })
    }

    fn retry(&self, attempt: u32, due: Due) -> Result<Next, ToolError> {
        let call = self.seq;
        self.passed(Deadline::Retry { call, attempt }, due.at)
    }

    fn passed(&self, deadline: Deadline, due_us: Timestamp) -> Result<Next, ToolError> {
        self.observe(DeadlinePassed { deadline, due_us })
    }

    fn observe(&self, observation: impl Into<Observation>) -> Result<Next, ToolError> {
        self.tools.pipeline.observe(self.seq, observation.into())
    }
}

impl Drop for Call<'_> {
    /// Records a cancellation for an unfinished call and wakes the calls that wait for it.
    fn drop(&mut self) {
        if !self.over {
            self.tools.pipeline.cancel(self.seq);
        }
    }
}
