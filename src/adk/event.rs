//! An event as ADK writes it.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::request_confirmation::{Confirmation, Unanswered};
use crate::session::{FunctionResponseScheduling, Json};
use crate::tool;

/// An event as ADK writes it: what is absent is left out.
///
/// ```json
/// {"id":"…","timestamp":1760000000.5,"invocationId":"e-…","author":"support",
///  "content":{"role":"model","parts":[{"functionCall":{"id":"fc-1","name":"transfer","args":{"amount":50}}}]},
///  "longRunningToolIds":[],"actions":{"stateDelta":{},"artifactDelta":{},"requestedAuthConfigs":{},"requestedToolConfirmations":{}}}
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Event {
    /// The same for the same fact, however often it is shown.
    pub id: String,
    /// Seconds since 1970.
    pub timestamp: f64,
    /// The turn of the user that it belongs to; what comes of a call belongs to the turn of the
    /// call.
    pub invocation_id: String,
    /// `user`, or the agent's name.
    pub author: String,
    /// What is said, called or answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// The calls in it that go on after this turn; only with calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long_running_tool_ids: Option<Vec<String>>,
    /// What else it did.
    pub actions: Actions,
    /// The model's turn ended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub turn_complete: bool,
    /// The model's turn was cut off.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// What the user said aloud.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_transcription: Option<Spoken>,
    /// What the model said aloud.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_transcription: Option<Spoken>,
}

/// Parts, and who said them: `user` or `model`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Content {
    /// `user` or `model`; results of functions are the user's.
    pub role: &'static str,
    /// What was said.
    pub parts: Vec<Part>,
}

/// One part of a content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Part {
    /// Words.
    Text(String),
    /// A call.
    FunctionCall(Call),
    /// What a call came to, or a client's answer.
    FunctionResponse(Response),
}

/// A call of a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Call {
    /// Its id, by which it is answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The function.
    pub name: String,
    /// The arguments.
    pub args: CallArgs,
}

/// The arguments of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum CallArgs {
    /// Those of the model, exactly as they stand on record.
    Given(Json),
    /// Those of a call that asks for confirmation.
    Confirmation(Box<Confirmation>),
}

/// A response to a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Response {
    /// The call's id.
    pub id: String,
    /// The function.
    pub name: String,
    /// The response.
    pub response: Json,
    /// When the model takes it up, where it did not wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<FunctionResponseScheduling>,
}

/// A transcript of speech.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Spoken {
    /// The words.
    pub text: String,
}

/// What an event did beside what it says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Actions {
    /// Whether the model is not called with it at once.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub skip_summarization: bool,
    /// What was written to the state, by key.
    pub state_delta: BTreeMap<String, Json>,
    /// Always empty: there are no artifacts.
    pub artifact_delta: Nothing,
    /// Always empty: there are no such requests.
    pub requested_auth_configs: Nothing,
    /// What is asked, by the id of the call that waits.
    pub requested_tool_confirmations: BTreeMap<String, Unanswered>,
}

/// A map in which nothing stands: `{}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nothing;

impl Serialize for Nothing {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(std::iter::empty::<(&str, ())>())
    }
}

impl Event {
    /// The event as JSON.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use recount::prelude::*;
    /// let add = T::simple("add", "Adds", |args| async move {
    ///     Ok(json!({"sum": args["a"].as_i64().unwrap_or(0) + args["b"].as_i64().unwrap_or(0)}))
    /// });
    /// let engine = Engine::in_memory().agent("sums", Agent::new().model("none").tools(add)).open().await?;
    /// let session = engine.session("sums").open().await?;
    /// let mut events = session.adk_events();
    /// let _ = session.call_function("add", json!({"a": 2, "b": 3}), Actor::embedder("pipeline")).await;
    /// let called = events.next().await?.expect("the call is on record");
    /// assert!(called.to_json().contains(r#""name":"add","args":{"a":2,"b":3}"#));
    /// assert_eq!(called.calls().next().map(|call| call.name.as_str()), Some("add"));
    /// assert!(!called.should_pause());
    /// let answered = events.next().await?.expect("so is the response");
    /// assert_eq!(answered.responses().next().map(|it| it.response.as_str()), Some(r#"{"sum":5}"#));
    /// # Ok::<(), recount::engine::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn to_json(&self) -> String {
        // An event of ours always writes itself.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The calls in it.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        let parts = self.content.iter().flat_map(|content| &content.parts);
        parts.filter_map(|part| match part {
            Part::FunctionCall(call) => Some(call),
            Part::Text(_) | Part::FunctionResponse(_) => None,
        })
    }

    /// The responses in it.
    pub fn responses(&self) -> impl Iterator<Item = &Response> {
        let parts = self.content.iter().flat_map(|content| &content.parts);
        parts.filter_map(|part| match part {
            Part::FunctionResponse(response) => Some(response),
            Part::Text(_) | Part::FunctionCall(_) => None,
        })
    }

    /// Whether what follows waits for somebody outside: it holds a call that is long-running, or
    /// asks for confirmation.
    ///
    /// It is what ADK calls `should_pause_invocation`.
    pub fn should_pause(&self) -> bool {
        let long_running = self.long_running_tool_ids.as_deref().unwrap_or_default();
        self.calls()
            .any(|call| call.id.as_ref().is_some_and(|id| long_running.contains(id)))
    }
}

impl From<&Call> for tool::FunctionCall {
    fn from(call: &Call) -> tool::FunctionCall {
        let args = match &call.args {
            CallArgs::Given(args) => args.to_value(),
            CallArgs::Confirmation(asks) => serde_json::to_value(asks).unwrap_or_default(),
        };
        tool::FunctionCall {
            id: call.id.clone(),
            name: call.name.clone(),
            args,
        }
    }
}
