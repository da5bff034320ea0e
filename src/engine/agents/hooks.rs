//! Hooks of the embedding program, called about calls before they run and about responses before
//! they are sent.
//!
//! They run beside the session's loop. Their answers are recorded before any effect follows, so a
//! replay does not run them. A hook that panics or takes too long counts as a no.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::Value;

use super::redaction::Redactor;
use super::transcripts::Transcripts;
use crate::session::response::success_response;
use crate::session::{Actor, Hook, HookAnswered, Hooks, Json, Observation, ResponseShape, Seq};
use crate::tool::{FunctionCall, FunctionResponse, State, is_inexact, restored};

pub(in crate::engine) type Calls = Vec<FunctionCall>;
type Responses = Vec<FunctionResponse>;
pub(in crate::engine) type OnToolCall =
    dyn Fn(Calls, State) -> BoxFuture<'static, Option<Responses>> + Send + Sync;
type Before = dyn Fn(Responses, State) -> BoxFuture<'static, Responses> + Send + Sync;

/// The time limit of a hook. Later answers and writes are dropped.
const HOOK_LIMIT: Duration = Duration::from_secs(30);

/// The hooks of an agent.
#[derive(Clone, Default)]
pub(in crate::engine) struct AgentHooks {
    pub(in crate::engine) on_tool_call: Option<Arc<OnToolCall>>,
    pub(in crate::engine) before_tool_response: Option<BeforeToolResponse>,
    pub(in crate::engine) redactor: Option<Redactor>,
    pub(in crate::engine) transcripts: Transcripts,
}

impl AgentHooks {
    /// Returns which hooks exist, for the policies.
    pub(in crate::engine) fn declared(&self) -> Hooks {
        Hooks {
            on_tool_call: self.on_tool_call.is_some(),
            before_tool_response: self.before_tool_response.is_some(),
        }
    }

    /// Redacts a batch before it is recorded.
    pub(in crate::engine) fn redact(&self, batch: &mut [Observation]) {
        for observation in batch {
            if let Some(redactor) = &self.redactor {
                redactor.redact(observation);
            }
            self.transcripts.apply(observation);
        }
    }

    /// Returns a text of the conversation in its recorded form. `None` if all of it is recorded.
    pub(in crate::engine) fn recorded_words(&self, text: &str) -> Option<String> {
        let redacted = self.redactor.as_ref().and_then(|it| it.of(text));
        let recorded = self
            .transcripts
            .recorded(redacted.as_deref().unwrap_or(text));
        recorded.or(redacted)
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

/// The hook that sees every response first.
#[derive(Clone)]
pub(in crate::engine) struct BeforeToolResponse(Arc<Before>);

impl BeforeToolResponse {
    /// Returns one response as changed by the hook. Unchanged parts keep digits that a parsed value
    /// would lose.
    pub(in crate::engine) async fn of_one(
        &self,
        (name, id): (String, Option<String>),
        text: Json,
        state: &State,
        shape: ResponseShape,
    ) -> Json {
        if !is_readable(&text) {
            // The record rejects it, and the hook would see something else.
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

    /// Returns several responses as changed by the hook, in their order.
    ///
    /// A response without an answer, or all of them if the hook fails, are withheld. What the hook
    /// was to remove must not be sent.
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

/// Runs a hook and contains its panics and timeouts.
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

/// Returns the response in an answer, if a hook can be passed it.
fn shown_of(answer: &HookAnswered) -> Option<&Json> {
    answer.response.as_ref().filter(|it| is_readable(it))
}

/// True if the text parses as the value that it was made of. A value may nest too deep, or have a
/// reserved key.
fn is_readable(text: &Json) -> bool {
    Json::parse(text.as_str()).is_ok()
}

/// Returns a hook's answer for each call: matched by id if the response has one, else by name.
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

/// Passes the answers of `on_tool_call` to `before_tool_response`.
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
