//! Hooks: the embedding program's own code, asked about calls before they run and about responses before they leave.
//!
//! They run beside the session's loop. What they say goes on record before anything follows from it, so a replay needs
//! none of them; one that panics or takes too long has said no.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio_util::task::AbortOnDropHandle;

use super::error::Error;
use super::inbox::{Input, Reply};
use super::performer::InFlight;
use super::redaction::Redactor;
use super::task::SessionTask;
use crate::session::{
    Actor, Author, Command, Effect, Hook, HookAnswered, Hooks, Json, Observation, Phase, Rejection,
    ResponseShape, Seq, StateChanged, admit, fits, fits_state, response::success_response,
};
use crate::tool::{FunctionCall, FunctionResponse, State, exact_value, is_inexact, restored};

type Calls = Vec<FunctionCall>;
type Responses = Vec<FunctionResponse>;
type OnToolCall = dyn Fn(Calls, State) -> BoxFuture<'static, Option<Responses>> + Send + Sync;
type Before = dyn Fn(Responses, State) -> BoxFuture<'static, Responses> + Send + Sync;

/// How long a hook may take; what it says or writes later goes nowhere.
const HOOK_LIMIT: Duration = Duration::from_secs(30);

/// The hooks of an agent.
#[derive(Clone, Default)]
pub(super) struct AgentHooks {
    on_tool_call: Option<Arc<OnToolCall>>,
    pub(super) before_tool_response: Option<BeforeToolResponse>,
    pub(super) redactor: Option<Redactor>,
}

impl AgentHooks {
    /// Which there are, for the policies.
    pub(super) fn declared(&self) -> Hooks {
        Hooks {
            on_tool_call: self.on_tool_call.is_some(),
            before_tool_response: self.before_tool_response.is_some(),
        }
    }

    pub(super) fn answer_calls<F, Fut>(&mut self, hook: F)
    where
        F: Fn(Calls, State) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Option<Responses>> + Send + 'static,
    {
        self.on_tool_call = Some(Arc::new(move |calls, state| Box::pin(hook(calls, state))));
    }

    pub(super) fn change_responses<F, Fut>(&mut self, hook: F)
    where
        F: Fn(Responses, State) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Responses> + Send + 'static,
    {
        let hook: Arc<Before> = Arc::new(move |all, state| Box::pin(hook(all, state)));
        self.before_tool_response = Some(BeforeToolResponse(hook));
    }
}

/// The hook that sees every response before anybody else does.
#[derive(Clone)]
pub(super) struct BeforeToolResponse(Arc<Before>);

impl BeforeToolResponse {
    /// One response as the hook words it. Parts that the hook repeats keep the digits that a parsed
    /// value does not hold.
    pub(super) async fn of_one(
        &self,
        (name, id): (String, Option<String>),
        text: Json,
        state: &State,
        shape: ResponseShape,
    ) -> Json {
        if !is_readable(&text) {
            // The record refuses it, and the hook would see something else.
            return text;
        }
        let response = text.to_value();
        let shown = FunctionResponse {
            name,
            response: response.clone(),
            id,
        };
        let mut changed = self.of_all(vec![shown], state, shape).await;
        let words = changed.pop().unwrap_or_else(|| withheld(shape));
        if is_inexact(&text) {
            restored(&words.to_value(), &response, &text)
        } else {
            words
        }
    }

    /// What it makes of several, in their order. One that it gives no answer for, or all if it fails, are withheld: what
    /// it was to take out must not leave because of that.
    async fn of_all(&self, all: Responses, state: &State, shape: ResponseShape) -> Vec<Json> {
        let asked: Vec<(Option<String>, String)> = all
            .iter()
            .map(|it| (it.id.clone(), it.name.clone()))
            .collect();
        let (hook, state) = (self.0.clone(), state.clone());
        let mut changed = match contained(async move { hook(all, state).await }).await {
            Ok(changed) => changed,
            Err(problem) => {
                tracing::error!(problem, "the hook before_tool_response failed");
                Vec::new()
            }
        };
        let mut words = Vec::new();
        for (id, name) in asked {
            let same = |it: &FunctionResponse| it.id == id && it.name == name;
            words.push(match changed.iter().position(same) {
                Some(at) => object(changed.remove(at).response),
                None => withheld(shape),
            });
        }
        words
    }
}

fn object(response: Value) -> Json {
    Json::of(&success_response(response))
}

fn withheld(shape: ResponseShape) -> Json {
    Json::of(&shape.error("withheld", "the response was withheld"))
}

/// Runs a hook, whatever it does.
async fn contained<T>(hook: impl Future<Output = T> + Send) -> Result<T, &'static str> {
    let hook = AssertUnwindSafe(hook).catch_unwind();
    match tokio::time::timeout(HOOK_LIMIT, hook).await {
        Ok(Ok(said)) => Ok(said),
        Ok(Err(_)) => Err("it panicked"),
        Err(_) => Err("it took too long"),
    }
}

impl SessionTask {
    /// Shows calls to `on_tool_call`: those of one frame together, as they came.
    pub(super) fn show_calls(&mut self, effects: Vec<Effect>) {
        let Some(hook) = self.agent.hooks.on_tool_call.clone() else {
            return;
        };
        // Another process owes what another runner does.
        let (ours, others): (Vec<Effect>, Vec<Effect>) = effects.into_iter().partition(|effect| {
            matches!(effect, Effect::AskHook { runner, .. } if self.attached == Some(*runner))
        });
        for effect in others {
            self.performer.begun(effect, InFlight::Left);
        }
        let (mut shown, mut unread) = (Vec::new(), Vec::new());
        for effect in &ours {
            let Effect::AskHook { call, .. } = effect else {
                continue;
            };
            let Some(open) = self.session.calls.get(call) else {
                continue;
            };
            let (id, name) = (open.wire_id.clone(), open.name.clone());
            match exact_value(&open.args, &[]) {
                Ok(args) => shown.push((*call, FunctionCall { id, name, args })),
                // A hook must not answer for other numbers than those that came.
                Err(problem) => unread.push(unread_by_hook(*call, &problem)),
            }
        }
        if shown.is_empty() && unread.is_empty() {
            return;
        }
        let (own, state, seen) = (self.own.clone(), self.state(), self.state());
        let (before, shape) = (
            self.agent.hooks.before_tool_response.clone(),
            self.agent.policies.response,
        );
        let written = state.clone();
        let asking = async move {
            let calls: Calls = shown.iter().map(|(_, call)| call.clone()).collect();
            let said = match calls.is_empty() {
                true => Ok(None),
                false => contained(async move { hook(calls, state).await }).await,
            };
            let mut answers = answers(&shown, said);
            if let Some(before) = before {
                changed(&before, &shown, &mut answers, &seen, shape).await;
            }
            answers.extend(unread);
            let _ = own.send(Input::HookAnswered {
                answers,
                state: written,
                others: seen,
            });
        };
        let task = Arc::new(AbortOnDropHandle::new(tokio::spawn(asking)));
        for effect in ours {
            self.performer
                .begun(effect, InFlight::Together(task.clone()));
        }
    }

    /// Shows a response that the engine made itself to `before_tool_response`.
    pub(super) async fn show_issued(&self, call: Seq, issued: Seq) -> Result<InFlight, Error> {
        let (Some(before), Some(delivery), Some(body)) = (
            self.agent.hooks.before_tool_response.clone(),
            self.session.deliveries.get(&issued),
            self.response_body(issued).await?,
        ) else {
            return Ok(InFlight::Left);
        };
        let named = (delivery.name.clone(), delivery.wire_id.clone());
        let (own, state, shape) = (self.own.clone(), self.state(), self.agent.policies.response);
        let asking = async move {
            let changed = before.of_one(named, body, &state, shape).await;
            let answer = HookAnswered {
                hook: Hook::BeforeToolResponse,
                call,
                of: Some(issued),
                response: Some(changed),
                failure: None,
                gated: None,
                by: None,
            };
            let _ = own.send(Input::HookAnswered {
                answers: vec![answer],
                state: State::default(),
                others: state,
            });
        };
        let task = AbortOnDropHandle::new(tokio::spawn(asking));
        Ok(InFlight::Together(Arc::new(task)))
    }

    /// Puts on record what a hook said, and what it wrote.
    pub(super) async fn hook_answered(
        &mut self,
        answers: Vec<HookAnswered>,
        state: &State,
        others: &State,
    ) -> Result<(), Error> {
        let mut observations: Vec<Observation> = [
            self.written_by(Hook::OnToolCall.as_str(), state),
            self.written_by(Hook::BeforeToolResponse.as_str(), others),
        ]
        .into_iter()
        .flatten()
        .collect();
        for answer in answers {
            let waits = match answer.hook {
                Hook::OnToolCall => {
                    let open = self.session.calls.get(&answer.call);
                    open.is_some_and(|it| it.phase == Phase::AwaitingHook)
                }
                Hook::ConfirmWhen => {
                    let open = self.session.calls.get(&answer.call);
                    open.is_some_and(|it| it.phase == Phase::AwaitingVerdict)
                }
                Hook::BeforeToolResponse => true,
            };
            if waits {
                observations.push(self.fitting(answer));
            }
        }
        self.record(observations).await
    }

    /// What a hook wrote to the state, to go on record by its name; what cannot stand there is dropped, with a word in the
    /// log.
    pub(super) fn written_by(&self, hook: &str, state: &State) -> Option<Observation> {
        let written = state.take_changes().and_then(|changes| {
            let author = Author::Hook(hook.to_owned());
            let nothing = changes.is_empty() || self.session.closed;
            let changed = fits_state(&self.session, StateChanged { changes, author });
            let changed = changed.map_err(|rejection| rejection.to_string())?;
            Ok((!nothing).then_some(changed))
        });
        written.unwrap_or_else(|problem| {
            tracing::error!(session = %self.id, hook, problem, "what a hook wrote was dropped");
            None
        })
    }

    fn fitting(&self, answer: HookAnswered) -> Observation {
        let shape = self.agent.policies.response;
        let too_large = |rejection: Rejection| -> Observation {
            let mut refused = answer.clone();
            match answer.hook {
                Hook::OnToolCall => {
                    refused.response = None;
                    refused.failure = Some(format!("the hook on_tool_call failed: {rejection}"));
                }
                Hook::BeforeToolResponse => refused.response = Some(withheld(shape)),
                // It says yes or no, which is never large.
                Hook::ConfirmWhen => {}
            }
            refused.into()
        };
        fits(answer.clone().into()).unwrap_or_else(too_large)
    }

    /// Lets `before_tool_response` see a supplied response that would be taken, or that may be the one on record, which it has
    /// seen, too; gives back what it does not concern.
    pub(super) fn show_supplied(
        &mut self,
        command: Command,
        reply: Reply<Seq>,
    ) -> Option<(Command, Reply<Seq>)> {
        let Some(before) = self.agent.hooks.before_tool_response.clone() else {
            return Some((command, reply));
        };
        let admitted = admit(&self.session, command.clone());
        let taken = admitted.is_ok();
        let compared = matches!(admitted, Err(Rejection::AlreadySupplied { .. }));
        let Command::SupplyResponse {
            call,
            name,
            response,
            will_continue,
            by,
        } = command
        else {
            return Some((command, reply));
        };
        let id = self.session.calls.get(&call);
        let id = id.and_then(|it| it.wire_id.clone());
        if !taken && !compared {
            let command = Command::SupplyResponse {
                call,
                name,
                response,
                will_continue,
                by,
            };
            return Some((command, reply));
        }
        let (own, state, shape) = (self.own.clone(), self.state(), self.agent.policies.response);
        let asking = async move {
            let named = (name.clone(), id);
            let response = before.of_one(named, response, &state, shape).await;
            let command = Command::SupplyResponse {
                call,
                name,
                response,
                will_continue,
                by,
            };
            // What it says of a repeat is compared and no more.
            let state = if taken { state } else { State::default() };
            let _ = own.send(Input::Shown {
                command,
                state,
                reply,
            });
        };
        self.extracting.retain(|task| !task.is_finished());
        self.extracting
            .push(AbortOnDropHandle::new(tokio::spawn(asking)));
        None
    }
}

/// The response in an answer that a hook may be shown.
fn shown_of(answer: &HookAnswered) -> Option<&Json> {
    answer.response.as_ref().filter(|it| is_readable(it))
}

/// True if the text reads as the value that is written there: what was made of a value may nest too
/// deep for that, or have a key that is reserved.
fn is_readable(text: &Json) -> bool {
    Json::parse(text.as_str()).is_ok()
}

/// The refusal of a call whose arguments the hook `on_tool_call` cannot be shown as they came.
fn unread_by_hook(call: Seq, problem: &str) -> HookAnswered {
    HookAnswered {
        hook: Hook::OnToolCall,
        call,
        of: None,
        response: None,
        failure: Some(format!(
            "the hook on_tool_call was not asked, because it takes parsed arguments: {problem}"
        )),
        gated: None,
        by: None,
    }
}

/// What a hook said, call by call: by id where a response has one, otherwise by name.
fn answers(
    shown: &[(Seq, FunctionCall)],
    said: Result<Option<Responses>, &'static str>,
) -> Vec<HookAnswered> {
    let (mut given, failure) = match said {
        Ok(responses) => (responses.unwrap_or_default(), None),
        Err(problem) => (
            Vec::new(),
            Some(format!("the hook on_tool_call failed: {problem}")),
        ),
    };
    let mut answers = Vec::new();
    for (seq, call) in shown {
        let is_for = |it: &FunctionResponse| match &it.id {
            Some(id) => call.id.as_ref() == Some(id),
            None => it.name == call.name,
        };
        let response = given.iter().position(is_for).map(|at| given.remove(at));
        answers.push(HookAnswered {
            hook: Hook::OnToolCall,
            call: *seq,
            of: None,
            by: response
                .as_ref()
                .map(|_| Actor::embedder(Hook::OnToolCall.as_str())),
            response: response.map(|it| object(it.response)),
            failure: failure.clone(),
            gated: None,
        });
    }
    for stray in given {
        tracing::warn!(
            name = stray.name,
            "the hook on_tool_call answered a call that it was not shown"
        );
    }
    answers
}

/// Lets `before_tool_response` see what `on_tool_call` answered.
async fn changed(
    before: &BeforeToolResponse,
    shown: &[(Seq, FunctionCall)],
    answers: &mut [HookAnswered],
    state: &State,
    shape: ResponseShape,
) {
    let given = shown.iter().zip(&*answers);
    let given = given.filter_map(|((_, call), answer)| {
        Some(FunctionResponse {
            name: call.name.clone(),
            response: shown_of(answer)?.to_value(),
            id: call.id.clone(),
        })
    });
    let given: Responses = given.collect();
    if given.is_empty() {
        return;
    }
    let mut words = before.of_all(given, state, shape).await.into_iter();
    for answer in answers.iter_mut().filter(|it| shown_of(it).is_some()) {
        answer.response = words.next();
    }
}
