//! Division of a client's message into its responses to calls and the rest.

use std::borrow::Cow;

use recount::session::Json;
use recount::session::response::error_response;
use recount_text::json::JsonProblem;

use super::FrameError;
use super::members::{Members, elements, object_of, place_of};

/// The result of a call: the client's response, or the reason why the journal cannot hold it. Then
/// the call has failed.
pub(crate) type Returned = Result<Json, String>;

/// The parts of a message with responses.
#[derive(Debug)]
pub(crate) struct DividedResponses<'a> {
    /// The responses, in order.
    pub(crate) responses: Vec<Response<'a>>,
    /// The spelling of the keys around the responses.
    pub(crate) spelling: Spelling<'a>,
    /// Members of `toolResponse` besides its list, as `"key":value`. The protocol has none.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "shows in tests that nothing is lost")
    )]
    pub(crate) beside_responses: Vec<&'a str>,
    /// The other members as a message of their own, with their exact texts. `None` if there are
    /// none.
    pub(crate) rest: Option<String>,
}

/// One response of a message.
#[derive(Clone, Debug)]
pub(crate) struct Response<'a> {
    /// The id of the call. `None` if it is absent, null or empty.
    pub(crate) id: Option<String>,
    /// The name of the function. `None` if it is absent, null or empty.
    pub(crate) name: Option<String>,
    /// The exact text of the answer. `None` if it is absent or null.
    pub(crate) response: Option<&'a str>,
    /// The result of the call, as the session records it.
    pub(crate) returned: Returned,
    /// True if the client announces more responses to the call, false if this is the last one.
    pub(crate) will_continue: Option<bool>,
    /// The time at which the model handles the response, such as `SILENT`.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "shows in tests that nothing is lost")
    )]
    pub(crate) scheduling: Option<String>,
    /// The exact text of the response with all its members.
    pub(crate) text: &'a str,
}

/// The exact texts of the two keys around responses, with their quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spelling<'a> {
    /// `"toolResponse"` or `"tool_response"`.
    pub(crate) outer: &'a str,
    /// `"functionResponses"` or `"function_responses"`.
    pub(crate) inner: &'a str,
}

impl Spelling<'static> {
    /// The spelling that every server of the protocol accepts.
    pub(crate) const CAMEL: Spelling<'static> = Spelling {
        outer: "\"toolResponse\"",
        inner: "\"functionResponses\"",
    };
}

/// Divides a message.
///
/// # Errors
/// An error if the message can be read in two ways or not at all, and [`FrameError::Missing`] if it
/// has no responses.
pub(crate) fn split_responses(frame: &str) -> Result<DividedResponses<'_>, FrameError> {
    let mut members = Members::of_frame(frame)?;
    let Some(answered) = members.take("toolResponse")? else {
        return Err(FrameError::Missing("toolResponse"));
    };
    let mut inside = object_of("toolResponse", answered.value)?;
    let mut spelling = Spelling {
        outer: answered.quoted,
        ..Spelling::CAMEL
    };
    let mut responses = Vec::new();
    if let Some(list) = inside.take("functionResponses")? {
        spelling.inner = list.quoted;
        let list = elements("functionResponses", list.value)?;
        let read: Result<Vec<_>, FrameError> = list.into_iter().map(response).collect();
        responses = read?;
    }
    Ok(DividedResponses {
        responses,
        spelling,
        beside_responses: inside.left().iter().map(|it| it.text).collect(),
        rest: members.rest(),
    })
}

/// Returns the response for the model to a call whose answer the journal cannot hold.
pub(crate) fn failed(reason: &str) -> Json {
    Json::of(&error_response("execution_failed", reason))
}

impl<'a> Response<'a> {
    /// The exact text for the vendor. It has what is on record: an error in place of an answer that
    /// the journal cannot hold.
    pub(crate) fn on_record(&self) -> Cow<'a, str> {
        let (text, reason) = match &self.returned {
            Ok(_) => return Cow::Borrowed(self.text),
            Err(reason) => (self.text, reason),
        };
        let parts = self.response.and_then(|response| {
            let at = place_of(response, text)?;
            Some((text.get(..at)?, text.get(at + response.len()..)?))
        });
        // The answer is a part of the response's text, so its place is found.
        let (before, after) = parts.unwrap_or((r#"{"response":"#, "}"));
        Cow::Owned(format!("{before}{}{after}", failed(reason)))
    }
}

fn response(text: &str) -> Result<Response<'_>, FrameError> {
    let mut members = object_of("functionResponses", text)?;
    let not_empty = |it: &String| !it.is_empty();
    let response = members.take("response")?.map(|it| it.value);
    let returned = match Json::parse(response.unwrap_or("{}")) {
        Ok(json) => Ok(json),
        Err(JsonProblem::DuplicateKey(key)) => return Err(FrameError::Ambiguous(key)),
        Err(
            problem @ (JsonProblem::Syntax(_)
            | JsonProblem::TooDeep
            | JsonProblem::LoneSurrogate
            | JsonProblem::ReservedKey(_)),
        ) => Err(format!("the client's answer cannot be recorded: {problem}")),
    };
    Ok(Response {
        id: members.string("id")?.filter(not_empty),
        name: members.string("name")?.filter(not_empty),
        response,
        returned,
        will_continue: members.boolean("willContinue")?,
        scheduling: members.string("scheduling")?,
        text,
    })
}

/// Builds a message with the given responses, each as the exact text of [`Response::text`].
pub(crate) fn responses_frame(texts: &[&str], spelling: Spelling<'_>) -> String {
    let Spelling { outer, inner } = spelling;
    format!("{{{outer}:{{{inner}:[{}]}}}}", texts.join(","))
}

#[cfg(test)]
#[expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may fail loudly"
)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn responses_keep_text_and_spelling() {
        let first = r#"{"will_continue": true, "scheduling": "SILENT", "id": "fc-1", "name": "a",
            "response": {"n": 9007199254740993, "scheduling": "x"}}"#;
        let second = r#"{"name":"b","response":null}"#;
        let frame = format!(
            r#"{{"tool_response": {{"function_responses": [{first}, {second}]}}, "x": 1 }}"#
        );
        let divided = split_responses(&frame).unwrap();
        let [a, b] = &divided.responses[..] else {
            unreachable!("two responses")
        };
        assert_eq!((a.text, b.text), (first, second));
        assert_eq!(
            (a.id.as_deref(), a.name.as_deref()),
            (Some("fc-1"), Some("a"))
        );
        assert_eq!(
            (a.will_continue, a.scheduling.as_deref()),
            (Some(true), Some("SILENT"))
        );
        assert_eq!(
            a.response,
            Some(r#"{"n": 9007199254740993, "scheduling": "x"}"#)
        );
        assert_eq!((&b.id, b.response, b.will_continue), (&None, None, None));
        assert_eq!(divided.rest.as_deref(), Some(r#"{"x": 1}"#));
        let alone = responses_frame(&[second], divided.spelling);
        assert_eq!(
            alone,
            format!(r#"{{"tool_response":{{"function_responses":[{second}]}}}}"#)
        );
        assert_eq!(split_responses(&alone).unwrap().responses[0].text, second);
    }

    #[test]
    fn responses_read_in_two_ways_are_refused() {
        for frame in [
            r#"{"toolResponse":{},"tool_response":{}}"#,
            r#"{"toolResponse":{"functionResponses":[],"function_responses":[]}}"#,
            r#"{"toolResponse":{"functionResponses":[{"id":"a","id":"b"}]}}"#,
            r#"{"toolResponse":{"functionResponses":[{"response":1,"response":2}]}}"#,
            r#"{"toolResponse":{"functionResponses":[{"willContinue":1}]}}"#,
            r#"{"toolResponse":{"functionResponses":{"id":"a"}}}"#,
            r#"{"toolResponse":{"functionResponses":[{"ID":"a"}]}}"#,
            r#"{"toolResponse":[]}"#,
        ] {
            assert!(split_responses(frame).is_err(), "{frame}");
        }
        let missing = split_responses(r#"{"setup":{}}"#).unwrap_err();
        assert_eq!(missing, FrameError::Missing("toolResponse"));
    }

    proptest! {
        #[test]
        fn division_survives_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let text = String::from_utf8_lossy(&bytes);
            drop(split_responses(&text));
            drop(split_responses(&responses_frame(&[&text], Spelling::CAMEL)));
        }
    }
}
