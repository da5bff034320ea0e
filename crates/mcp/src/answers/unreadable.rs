//! Frames that the library cannot read.
//!
//! The library drops such a frame, and its request would wait for ever. So the frame is replaced by
//! an error for its request, or by a list without the unreadable tools.

use rmcp::ErrorData;
use rmcp::model::{ErrorCode, RequestId, ServerJsonRpcMessage};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use recount_session::{Json, JsonProblem};

use super::head::Head;
use super::listed::without_unreadable;
use super::raw_results::{mark, marked};
use crate::asking::asker::UNREADABLE_REQUEST;

/// A server's frame for the library.
pub(crate) enum Frame {
    /// The library gets the frame unchanged.
    AsItIs,
    /// The library gets these messages instead of the frame.
    Replaced(Vec<String>),
    /// A result without the id of its request, with a description.
    Lost(String),
    /// No message, as far as can be seen. The library gets it unchanged and drops it.
    Noise,
}

/// Reads a frame of a server. If it can answer only one request, `asked` is that request's id.
pub(crate) fn read(frame: &[u8], asked: Option<&RequestId>) -> Frame {
    let text = str::from_utf8(frame);
    let bare = text.map(|it| it.strip_prefix('\u{feff}').unwrap_or(it));
    if let Ok(batch) = bare
        && batch.trim_ascii_start().starts_with('[')
        && let Ok(messages) = serde_json::from_str::<Vec<&RawValue>>(batch)
    {
        return batched(&messages, asked);
    }
    let why = match bare.map(taken) {
        Ok(Ok(Some(replaced))) => return Frame::Replaced(vec![replaced]),
        Ok(Ok(None)) if bare == text => return Frame::AsItIs,
        Ok(Ok(None)) => return Frame::Replaced(bare.map(str::to_owned).into_iter().collect()),
        Ok(Err(why)) => why,
        Err(_) => "it is no UTF-8".to_owned(),
    };
    unreadable(frame, &why, asked)
}

/// Splits a batch into messages, because the library does not know batches.
fn batched(messages: &[&RawValue], asked: Option<&RequestId>) -> Frame {
    let mut read = Vec::new();
    for message in messages {
        let message = message.get();
        match taken(message) {
            Ok(replaced) => read.push(replaced.unwrap_or_else(|| message.to_owned())),
            Err(why) => match unreadable(message.as_bytes(), &why, asked) {
                Frame::AsItIs | Frame::Noise => {}
                Frame::Replaced(messages) => read.extend(messages),
                lost @ Frame::Lost(_) => return lost,
            },
        }
    }
    Frame::Replaced(read)
}

/// Returns the answer to a request from the HTTP response to its own POST.
pub(crate) fn answer_in(body: &[u8], asked: &RequestId) -> ServerJsonRpcMessage {
    let messages = match read(body, Some(asked)) {
        Frame::Replaced(messages) => messages,
        Frame::AsItIs | Frame::Noise | Frame::Lost(_) => {
            vec![String::from_utf8_lossy(body).into_owned()]
        }
    };
    let mut why = "it has no answer to the request".to_owned();
    for message in messages {
        match serde_json::from_str(&message) {
            Ok(message) if answers(&message, asked) => return message,
            Ok(_) => {}
            Err(error) => why = error.to_string(),
        }
    }
    let error = ErrorData::new(CODE, what(body, &why), Some(mark().into()));
    ServerJsonRpcMessage::error(error, Some(asked.clone()))
}

/// True if a message answers the request. An error without an id refers to the POST itself.
pub(crate) fn answers(message: &ServerJsonRpcMessage, asked: &RequestId) -> bool {
    let id = match message {
        ServerJsonRpcMessage::Response(it) => Some(&it.id),
        ServerJsonRpcMessage::Error(it) => it.id.as_ref(),
        ServerJsonRpcMessage::Request(_) | ServerJsonRpcMessage::Notification(_) => return false,
    };
    // Some servers return a numeric id as a string, which the library accepts.
    id.is_none_or(|it| it == asked || it.to_string() == asked.to_string())
}

/// Returns the error message for a request whose answer cannot be read.
pub(crate) fn error_for(id: &RequestId, what: &str) -> String {
    let error = json!({"code": CODE, "message": what, "data": mark()});
    json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string()
}

/// Returns the error for a request that waits when a result was lost.
pub(super) fn lost_error(what: String) -> ErrorData {
    ErrorData::new(CODE, what, Some(format!("{}{LOST}", mark()).into()))
}

/// True if the error was created here for an answer that cannot be read.
pub(super) fn is_of_unreadable(error: &ErrorData) -> bool {
    let data = error.data.as_ref().and_then(Value::as_str);
    error.code == CODE && data.is_some_and(|it| it.starts_with(mark()))
}

/// True if the error was created here for a lost result, so the request may still be answered.
pub(crate) fn is_of_lost(error: &ErrorData) -> bool {
    let data = error.data.as_ref().and_then(Value::as_str);
    is_of_unreadable(error) && data.is_some_and(|it| it.ends_with(LOST))
}

/// Returns the replacement for an unreadable frame.
pub(super) fn unreadable(frame: &[u8], why: &str, asked: Option<&RequestId>) -> Frame {
    let head = Head::of(frame);
    if head.is_asked() {
        return unreadable_asked(&head, why);
    }
    let asked = asked.filter(|_| head.is_answer());
    match head.id.as_ref().or(asked) {
        Some(id) => Frame::Replaced(vec![error_for(id, &what(frame, why))]),
        None if head.has_result => Frame::Lost(what(frame, why)),
        // An error without an id may refer to a notification by this client.
        None if head.is_answer() || frame.trim_ascii().is_empty() => Frame::AsItIs,
        None => Frame::Noise,
    }
}

/// Returns the replacement for an unreadable request or notification of the server.
fn unreadable_asked(head: &Head, why: &str) -> Frame {
    let message = match (&head.id, head.method.as_deref()) {
        // Otherwise the server would wait for ever, and so would the call for which it asks.
        (Some(id), _) => {
            let params = json!({ "reason": why });
            json!({"jsonrpc": "2.0", "id": id, "method": UNREADABLE_REQUEST, "params": params})
        }
        // The other members are not needed.
        (None, Some(method @ TOOLS_CHANGED)) => json!({"jsonrpc": "2.0", "method": method}),
        (None, _) => return Frame::AsItIs,
    };
    Frame::Replaced(vec![message.to_string()])
}

fn what(frame: &[u8], why: &str) -> String {
    let bytes = frame.len();
    format!("an answer of {bytes} bytes that cannot be read: {why}")
}

/// Returns the replacement for a message if it needs one, or the reason why it cannot be read.
fn taken(text: &str) -> Result<Option<String>, String> {
    let replaced = marked(text);
    let Some(why) = problem(replaced.as_deref().unwrap_or(text)).or_else(|| repeated_in(text))
    else {
        return Ok(replaced);
    };
    match without_unreadable(text) {
        Some(list) if problem(&list).is_none() && repeated_in(&list).is_none() => Ok(Some(list)),
        Some(_) | None => Err(why),
    }
}

/// Returns the reason why the library cannot read a message, by trying to.
fn problem(message: &str) -> Option<String> {
    let error = serde_json::from_str::<ServerJsonRpcMessage>(message).err()?;
    let syntax = serde_json::from_str::<Value>(message).err();
    Some(syntax.unwrap_or(error).to_string())
}

/// Returns the error for a duplicate key in a result.
fn repeated_in(message: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Message<'a> {
        #[serde(borrow)]
        result: Option<&'a RawValue>,
    }
    let message: Message<'_> = serde_json::from_str(message).ok()?;
    repeated(message.result?.get())
}

/// Returns the error for a duplicate key.
pub(super) fn repeated(text: &str) -> Option<String> {
    match Json::parse(text) {
        Err(problem @ JsonProblem::DuplicateKey(_)) => Some(problem.to_string()),
        Ok(_) | Err(_) => None,
    }
}

/// The error code for an answer that cannot be read.
const CODE: ErrorCode = ErrorCode(-31_997);
/// The suffix of the error data if the lost result may belong to another request.
const LOST: &str = "lost";
const TOOLS_CHANGED: &str = "notifications/tools/list_changed";

#[cfg(test)]
#[expect(clippy::panic, reason = "a test may fail")]
mod tests {
    use super::*;

    fn replaced(frame: &str) -> Option<Vec<Value>> {
        match read(frame.as_bytes(), None) {
            Frame::Replaced(messages) => {
                let messages = messages.iter().map(|it| serde_json::from_str(it));
                messages.collect::<Result<_, _>>().ok()
            }
            Frame::AsItIs | Frame::Noise | Frame::Lost(_) => None,
        }
    }

    #[test]
    fn unreadable_message_that_asks_ends_nothing() {
        for frame in [
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"a":1e400}}"#,
            r#"{"method":"notifications/message"}"#,
            "ready",
            "",
        ] {
            assert_eq!(replaced(frame), None, "{frame}");
        }
        let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
        let unreadable = changed.replace('}', r#","params":{"a":1e400}}"#);
        let expected = serde_json::from_str(changed).ok().map(|it| vec![it]);
        assert_eq!(replaced(&unreadable), expected);
    }

    #[test]
    fn frame_without_id_and_answer_is_noise() {
        for (frame, is_noise) in [
            ("ready", true),
            (r#"sent {"jsonrpc":"2.0","id":1,"result":{}}"#, true),
            (r#"{"level":"info"}"#, true),
            ("7", true),
            ("\n", false),
            (r#"{"id":1}"#, false),
            (r#"{"error":"no"}"#, false),
            (r#"{"jsonrpc":"2.0","method":"a","params":1e400}"#, false),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, false),
        ] {
            let read = read(frame.as_bytes(), None);
            assert_eq!(matches!(read, Frame::Noise), is_noise, "{frame}");
        }
    }

    #[test]
    fn error_without_an_id_ends_nothing() {
        let read = read(br#"{"jsonrpc":"2.0","id":null,"error":"no"}"#, None);
        assert!(matches!(read, Frame::AsItIs));
    }

    #[test]
    fn batch_is_read_message_by_message() {
        let notification = r#"{"jsonrpc":"2.0","method":"a"}"#;
        let batch = format!(r#"[{notification},{{"jsonrpc":"2.0","id":4,"result":1e400}}]"#);
        let ids = replaced(&batch).map(|it| it.iter().map(|it| it["id"].clone()).collect());
        assert_eq!(ids, Some(vec![Value::Null, json!(4)]));
        for lost in [
            r#"[{"jsonrpc":"2.0","result":1e400}]"#,
            r#"[{"id":4,"result":}]"#,
        ] {
            assert!(
                matches!(read(lost.as_bytes(), None), Frame::Lost(_)),
                "{lost}"
            );
        }
    }

    #[test]
    fn body_of_a_response_answers_its_request() {
        let asked = RequestId::Number(3);
        let result = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
        let notification = r#"{"jsonrpc":"2.0","method":"a"}"#;
        let ok = [
            result("3"),
            result("\"3\""),
            format!("\u{feff}{}", result("3")),
            format!("[{notification},{}]", result("3")),
        ];
        for body in ok {
            let read = answer_in(body.as_bytes(), &asked);
            assert!(matches!(read, ServerJsonRpcMessage::Response(_)), "{body}");
        }
        for body in [
            &result("4"),
            &result("null"),
            notification,
            "[]",
            "",
            "no",
            "{\"error\":1}",
        ] {
            let error = match answer_in(body.as_bytes(), &asked) {
                ServerJsonRpcMessage::Error(it) if it.id.as_ref() == Some(&asked) => it.error,
                other => panic!("{body}: {other:?}"),
            };
            assert!(is_of_unreadable(&error) && !is_of_lost(&error), "{body}");
        }
    }
}
