//! Messages that a relay makes itself, and comparisons of those that it got.

use recount::session::Json;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::frames::calls::frame_of;
use crate::frames::responses::{Spelling, responses_frame};

/// True if the call as the vendor wrote it has these arguments.
pub(super) fn has_args(text: &str, args: &Json) -> bool {
    #[derive(serde::Deserialize)]
    struct WithArgs<'a> {
        #[serde(borrow, default)]
        args: Option<&'a RawValue>,
    }
    let Ok(call) = serde_json::from_str::<WithArgs<'_>>(text) else {
        return false;
    };
    let Some(given) = call.args else {
        return *args == Json::empty_object();
    };
    let given = Json::parse(given.get());
    // Some models write the object into a string.
    given.is_ok_and(|it| it == *args || it.object_in_text().is_some_and(|it| it == *args))
}

pub(super) fn call_of(id: Option<&str>, name: &str, args: &Json) -> String {
    let name = Value::from(name);
    let args = args.as_str();
    match id {
        Some(id) => {
            let id = Value::from(id);
            format!(r#"{{"id":{id},"name":{name},"args":{args}}}"#)
        }
        None => format!(r#"{{"name":{name},"args":{args}}}"#),
    }
}

/// Returns the message with these calls, for the client. The vendor sends JSON in binary messages.
pub(super) fn to_client(calls: &[impl AsRef<str>]) -> Message {
    let calls: Vec<&str> = calls.iter().map(AsRef::as_ref).collect();
    Message::binary(frame_of(&calls))
}

pub(super) fn to_vendor(
    responses: &[impl AsRef<str>],
    spelling: Spelling<'_>,
    like_this: &Message,
) -> Message {
    let responses: Vec<&str> = responses.iter().map(AsRef::as_ref).collect();
    like(like_this, responses_frame(&responses, spelling))
}

/// A message of the same kind, text or binary.
pub(super) fn like(message: &Message, text: String) -> Message {
    match message.is_binary() {
        true => Message::binary(text),
        false => Message::text(text),
    }
}

/// The end of a call for which the session does not speak, because it has stopped.
pub(super) enum Unanswered<'a> {
    /// It did not run.
    NotRun,
    /// It ran, or may have run, and its result is not known.
    Unknown,
    /// The client has returned this.
    Returned(&'a Json),
}

/// Returns the message to the vendor about such a call.
///
/// A call takes one response. After an acknowledgement the message is text of the conversation, in
/// the form of the session's own.
pub(super) fn unanswered(
    id: Option<&str>,
    name: &str,
    is_told: bool,
    ending: Unanswered<'_>,
) -> Message {
    let error = |kind: &str, words: &str| json!({"error": words, "kind": kind});
    let (ended, response) = match ending {
        Unanswered::NotRun => {
            let words = "the call could not be recorded, so it did not run";
            ("not run", error("not_recorded", words))
        }
        Unanswered::Unknown => {
            let words = "the call was started, and its result could not be recorded; whether it \
                         took effect is unknown";
            ("unknown", error("unknown_outcome", words))
        }
        Unanswered::Returned(response) => ("returned", response.to_value()),
    };
    let message = match is_told {
        true => {
            let id = id.unwrap_or_default();
            let text = format!(
                "[tool outcome] Your earlier call of {name} ({id}) has an outcome: {ended}. \
                 Response: {response}"
            );
            let turn = json!({"role": "user", "parts": [{"text": text}]});
            json!({"clientContent": {"turns": [turn], "turnComplete": true}})
        }
        false => {
            let mut answer = json!({"name": name, "response": response});
            if let (Some(id), Some(answer)) = (id, answer.as_object_mut()) {
                answer.insert("id".to_owned(), id.into());
            }
            json!({"toolResponse": {"functionResponses": [answer]}})
        }
    };
    Message::text(message.to_string())
}

/// True if a message of the session has exactly this response.
pub(super) fn says(message: &str, response: &Json) -> bool {
    let message: Value = serde_json::from_str(message).unwrap_or_default();
    let said = message.pointer("/toolResponse/functionResponses/0/response");
    said.is_some_and(|it| *it == response.to_value())
}
