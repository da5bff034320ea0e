//! Hooks: the embedding program's own code, asked about calls before they run and about responses
//! before they leave.
//!
//! They run beside the session's loop. What they say goes on record before anything follows from
//! it, so a replay needs none of them; one that panics or takes too long has said no.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::Value;

use super::redaction::Redactor;
use crate::session::response::success_response;
use crate::session::{Actor, Hook, HookAnswered, Hooks, Json, ResponseShape, Seq};
use crate::tool::{FunctionCall, FunctionResponse, State, is_inexact, restored};

pub(in crate::engine) type Calls = Vec<FunctionCall>;
type Responses = Vec<FunctionResponse>;
pub(in crate::engine) type OnToolCall =
    dyn Fn(Calls, State) -> BoxFuture<'static, Option<Responses>> + Send + Sync;
type Before = dyn Fn(Responses, State) -> BoxFuture<'static, Responses> + Send + Sync;

/// How long a hook may take; what it says or writes later goes nowhere.
const HOOK_LIMIT: Duration = Duration::from_secs(30);

/// The hooks of an agent.
#[derive(Clone, Default)]
pub(in crate::engine) struct AgentHooks {
    pub(in crate::engine) on_tool_call: Option<Arc<OnToolCall>>,
    pub(in crate::engine) before_tool_response: Option<BeforeToolResponse>,
    pub(in crate::engine) redactor: Option<Redactor>,
}

impl AgentHooks {
    /// Which there are, for the policies.
    pub(in crate::engine) fn declared(&self) -> Hooks {
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
pub(in crate::engine) struct BeforeToolResponse(Arc<Before>);

impl BeforeToolResponse {
    /// One response as the hook words it. Parts that the hook repeats keep the digits that a parsed
    /// value does not hold.
    pub(in crate::engine) async fn of_one(
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

    /// What it makes of several, in their order. One that it gives no answer for, or all if it
    /// fails, are withheld: what it was to take out must not leave because of that.
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

pub(in crate::engine) fn withheld(shape: ResponseShape) -> Json {
    Json::of(&shape.error("withheld", "the response was withheld"))
}

/// Runs a hook, whatever it does.
pub(in crate::engine) async fn contained<T>(
    hook: impl Future<Output = T> + Send,
) -> Result<T, &'static str> {
    let hook = AssertUnwindSafe(hook).catch_unwind();
    match tokio::time::timeout(HOOK_LIMIT, hook).await {
        Ok(Ok(said)) => Ok(said),
        Ok(Err(_)) => Err("it panicked"),
        Err(_) => Err("it took too long"),
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

/// What a hook said, call by call: by id where a response has one, otherwise by name.
pub(in crate::engine) fn answers(
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
pub(in crate::engine) async fn changed(
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
