//! Events in ADK's format.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::request_confirmation::{Confirmation, Unanswered};
use crate::session::{FunctionResponseScheduling, Json};
use crate::tool;

/// An event in ADK's format. Absent values are omitted.
///
/// ```json
/// {"id":"…","timestamp":1760000000.5,"invocationId":"e-…","author":"support",
///  "content":{"role":"model","parts":[{"functionCall":{"id":"fc-1","name":"transfer",
///  "args":{"amount":50}}}]},
///  "longRunningToolIds":[],"actions":{"stateDelta":{},"artifactDelta":{},
///  "requestedAuthConfigs":{},"requestedToolConfirmations":{}}}
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Event {
    /// The id, equal each time the same event is shown.
    pub id: String,
    /// The time in seconds since 1970.
    pub timestamp: f64,
    /// The user turn to which the event belongs. Events that follow from a call belong to the turn
    /// of the call.
    pub invocation_id: String,
    /// `user`, or the agent's name.
    pub author: String,
    /// The text, calls or responses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// The ids of the calls in `content` that outlast this turn. Present only with calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long_running_tool_ids: Option<Vec<String>>,
    /// The side effects of the event.
    pub actions: Actions,
    /// True if the model's turn ended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub turn_complete: bool,
    /// True if the model's turn was interrupted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// The transcript of the user's speech.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_transcription: Option<Spoken>,
    /// The transcript of the model's speech.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_transcription: Option<Spoken>,
}

/// A list of parts and its author's role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Content {
    /// `user` or `model`. Results of functions have the role `user`.
    pub role: &'static str,
    /// The parts.
    pub parts: Vec<Part>,
}

/// One part of a content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Part {
    /// Text.
    Text(String),
    /// A call.
    FunctionCall(Call),
    /// The response to a call, or a client's answer.
    FunctionResponse(Response),
}

/// A call of a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Call {
    /// The id, which the response repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The function's name.
    pub name: String,
    /// The arguments.
    pub args: CallArgs,
}

/// The arguments of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum CallArgs {
    /// The model's arguments, exactly as recorded.
    Given(Json),
    /// The arguments of a call that asks for confirmation.
    Confirmation(Box<Confirmation>),
}

/// A response to a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Response {
    /// The call's id.
    pub id: String,
    /// The function's name.
    pub name: String,
    /// The response.
    pub response: Json,
    /// The time at which the model handles the response, if it did not wait for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<FunctionResponseScheduling>,
}

/// A transcript of speech.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Spoken {
    /// The text.
    pub text: String,
}

/// The side effects of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Actions {
    /// True if the model is not called immediately with this event.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub skip_summarization: bool,
    /// The values written to the state, by key.
    pub state_delta: BTreeMap<String, Json>,
    /// Always empty, because Recount has no artifacts.
    pub artifact_delta: Nothing,
    /// Always empty, because Recount has no authentication requests.
    pub requested_auth_configs: Nothing,
    /// The open confirmation requests, by the id of the call that waits.
    pub requested_tool_confirmations: BTreeMap<String, Unanswered>,
}

/// An empty map: `{}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nothing;

impl Serialize for Nothing {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(std::iter::empty::<(&str, ())>())
    }
}

impl Event {
    /// Returns the event as JSON.
    ///
    /// ```
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    /// # runtime.unwrap().block_on(async {
    /// use recount::prelude::*;
    /// let add = T::simple("add", "Adds", |args| async move {
    ///     Ok(json!({"sum": args["a"].as_i64().unwrap_or(0) + args["b"].as_i64().unwrap_or(0)}))
    /// });
    /// let engine = Engine::in_memory()
    ///     .agent("sums", Agent::new().model("none").tools(add))
    ///     .open()
    ///     .await?;
    /// let session = engine.session("sums").open().await?;
    /// let mut events = session.adk_events();
    /// let _ = session
    ///     .call_function("add", json!({"a": 2, "b": 3}), Actor::embedder("pipeline"))
    ///     .await;
    /// let called = events.next().await?.expect("the call is on record");
    /// assert!(called.to_json().contains(r#""name":"add","args":{"a":2,"b":3}"#));
    /// assert_eq!(called.calls().next().map(|call| call.name.as_str()), Some("add"));
    /// assert!(!called.should_pause());
    /// let answered = events.next().await?.expect("so is the response");
    /// assert_eq!(
    ///     answered.responses().next().map(|it| it.response.as_str()),
    ///     Some(r#"{"sum":5}"#)
    /// );
    /// # Ok::<(), recount::engine::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn to_json(&self) -> String {
        // Serializing our own event cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The calls in the event.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        let parts = self.content.iter().flat_map(|content| &content.parts);
        parts.filter_map(|part| match part {
            Part::FunctionCall(call) => Some(call),
            Part::Text(_) | Part::FunctionResponse(_) => None,
        })
    }

    /// The responses in the event.
    pub fn responses(&self) -> impl Iterator<Item = &Response> {
        let parts = self.content.iter().flat_map(|content| &content.parts);
        parts.filter_map(|part| match part {
            Part::FunctionResponse(response) => Some(response),
            Part::Text(_) | Part::FunctionCall(_) => None,
        })
    }

    /// True if the invocation must wait for an answer from outside. That is the case if the event
    /// holds a call that is long-running or asks for confirmation.
    ///
    /// ADK calls this `should_pause_invocation`.
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
