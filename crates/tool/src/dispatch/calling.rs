//! Calling a tool through its dispatcher: the same policies and events as in a live session,
//! without one.

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
use super::provider_desk::{ProviderDesk, Question, answer_of};
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
    /// Calls a tool and waits for its result: arguments are checked, policies hold, and everything
    /// is recorded, in memory.
    ///
    /// A dispatcher has a session of its own, which begins with the first call: cached results,
    /// limits, state and phases live in it, and a clone of the dispatcher begins another. A
    /// streaming tool gives all its results as one array. A long-running one gives what it says
    /// meanwhile, or `null`; nobody can answer such a call later, which takes an engine (`Engine`).
    /// For a pipeline with a journal see `LiveHandle::call_function`.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use recount_tool::{T, ToolDispatcher, ToolError};
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
    /// # Ok::<(), recount_tool::RegistrationError>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Why the call did not succeed, as a model would hear it.
    pub async fn call_function(&self, name: &str, args: Value) -> Result<Value, ToolError> {
        self.call(name, args, None, None).await
    }

    /// As [`call_function`](Self::call_function), with a time limit of its own for each run, in
    /// place of the tool's.
    ///
    /// # Errors
    /// [`ToolError::Timeout`] when a run took longer.
    pub async fn call_function_with_timeout(
        &self,
        name: &str,
        args: Value,
        limit: Duration,
    ) -> Result<Value, ToolError> {
        self.call(name, args, Some(limit), None).await
    }

    /// As [`call_function`](Self::call_function), until `cancel` fires: then the tool's future is
    /// dropped, and what it has begun elsewhere hears of it by the token of its [`ToolContext`].
    /// Where `cancel` has fired before, nothing runs and nothing is recorded. The token stays the
    /// caller's: nothing else fires it, so it may serve many calls.
    ///
    /// # Errors
    /// [`ToolError::Cancelled`] when it fired.
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

    /// Everything that was recorded of the calls of this dispatcher, oldest first; of very many,
    /// the latest.
    #[must_use]
    pub fn recorded(&self) -> Vec<Fact> {
        self.pipeline.recorded()
    }

    /// Not an `async fn`, which would carry the room for its parameters twice.
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
                    // Few calls ask or wait, so that the others need not carry the room for it.
                    Next::Ask {
                        request,
                        question,
                        at,
                        expires,
                    } => Box::pin(call.ask(request, *question, at, expires)).await?,
                    Next::Verdict(seen) => Box::pin(call.verdict(seen)).await?,
                    Next::Again { attempt, due } => {
                        Box::pin(tokio::time::sleep(due.wait)).await;
                        call.again(attempt, due)?
                    }
                    Next::Wait(woken) => woken
                        .await
                        .map_err(|_| ToolError::Other("nobody runs the call".to_owned()))?,
                    Next::Paused(interim) => return Ok(call.paused(interim)),
                    Next::Ended(ended) => return call.ended(ended),
                };
            }
        }
    }
}

/// A call; dropped between its record and its end, it is taken back on record.
pub(super) struct Call<'a> {
    pub(super) tools: &'a ToolDispatcher,
    pub(super) name: &'a str,
    pub(super) seq: Seq,
    pub(super) args: Option<Value>,
    /// The text of the arguments, where they came in one.
    pub(super) text: Option<Json>,
    pub(super) limit: Option<Duration>,
    /// Whoever made the call fires it; others may go by it, too, so nobody here does.
    pub(super) cancel: Option<&'a CancellationToken>,
    /// What its tool asked, to go on from there.
    pub(super) asked: Option<Box<Ask>>,
    /// What the person said who agreed to it.
    pub(super) confirmation: Option<Box<ToolConfirmation>>,
    /// What the last run gave, or why it did not.
    pub(super) result: Option<Result<Value, ToolError>>,
    /// Nothing more will be recorded of it; so also before it is received.
    pub(super) over: bool,
}

impl Call<'_> {
    /// Checks and records the call; says what it does first.
    fn receive(&mut self) -> Result<Next, ToolError> {
        let (tools, name) = (self.tools, self.name);
        if !tools.secret_arguments(name).is_empty() {
            let told = "a call with secret arguments takes an engine with a key store";
            return Err(ToolError::NotAvailable(told.to_owned()));
        }
        let args = self.args.take().unwrap_or_default();
        let text = Json::of(&args);
        // Some models send their arguments as text, and pass them on.
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
            // A value that the program made is equal to its text.
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
            let returned = self.returned(attempt, &Err(problem.clone()), None);
            self.result = Some(Err(problem));
            return self
                .tools
                .pipeline
                .report(call, None, returned.into(), None);
        }
        let pipeline = &self.tools.pipeline;
        let state = pipeline.state(seen);
        // What a run has begun elsewhere hears that the run is over, however it ends, as in an
        // engine.
        let over = self
            .cancel
            .map_or_else(CancellationToken::new, CancellationToken::child_token)
            .drop_guard();
        let mut yielded = Vec::new();
        let ended = {
            let desk = pipeline.desk(self.tools, self.name, call);
            let token = over.token().clone();
            let context = self.context(attempt, token, state.clone(), desk.clone());
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
            match (limit, desk) {
                // Few dispatchers have somebody to ask, so that the others need not carry the room
                // for it.
                (Some(limit), Some(desk)) => {
                    Box::pin(desk.within(limit, running)).await.ok_or(limit)
                }
                (Some(limit), None) => tokio::time::timeout(limit, running)
                    .await
                    .map_err(|_| limit),
                (None, _) => Ok(running.await),
            }
        };
        let outcome = match ended {
            Ok(outcome) => outcome,
            // The record knows the tool's own limit only; the caller's is told with the failure.
            Err(limit) if self.limit.is_some() => ToolOutcome::Failed(ToolError::Timeout(limit)),
            Err(limit) => {
                self.result = Some(Err(ToolError::Timeout(limit)));
                return self.passed(Deadline::Run { call, attempt }, started.after(limit));
            }
        };
        // Of a run that failed, nothing that it wrote is kept.
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
        let mut returned = self.returned(attempt, &result, scheduling);
        if let Some(text) = printed {
            let shape = self.tools.terms().policies.response;
            returned.response = shape.success_of_text(&text, None);
        }
        let next = pipeline.report(call, changed, returned.into(), result.as_ref().ok());
        self.result = Some(result);
        next
    }

    /// Why a tool that was approved does not run: it runs something else than when it was
    /// registered.
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
        desk: Option<Arc<ProviderDesk>>,
    ) -> ToolContext {
        let pipeline = &self.tools.pipeline;
        let identity = Identity::Of(self.seq);
        let context = ToolContext::of_run(pipeline.session(), attempt, identity, cancelled, state)
            .with_services(self.tools.services.clone())
            .with_emitter(match desk {
                Some(desk) => Emitter::new(desk, self.seq, attempt),
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
        // A tool that goes on is not given its arguments again, and finds them here.
        let args = pipeline.asked_about(self.seq).into_iter();
        args.fold(context, ToolContext::with_args)
            .resuming(ask.state.clone())
    }

    /// Only a call that may run again needs its arguments another time.
    fn args_of_run(&mut self, tool: &PolicyTool) -> Value {
        let args = match tool.policy().retry {
            Some(_) => self.args.clone(),
            None => self.args.take(),
        };
        args.unwrap_or_default()
    }

    /// Asks the dispatcher's provider, and records what it says, or that it said nothing in time.
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
            let told = "it must be confirmed first, and there is nobody to ask";
            return Err(ToolError::Cancelled(told.to_owned()));
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

    /// Asks the tool's predicates whether a person is asked.
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

    fn again(&self, attempt: u32, due: Due) -> Result<Next, ToolError> {
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
    /// Nobody waits for the call any more, and calls that wait for it hear of that.
    fn drop(&mut self) {
        if !self.over {
            self.tools.pipeline.take_back(self.seq);
        }
    }
}
