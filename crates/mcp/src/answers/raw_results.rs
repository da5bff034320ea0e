//! Results exactly as a server wrote them. rmcp parses structured content into a `Value`, which
//! changes some numbers.
//!
//! So rmcp never sees that content. In the incoming message a string with the content's text
//! replaces it, recognised by a prefix that no server knows.

use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll, ready};

use recount_session::Json;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::io::{AsyncBufRead, AsyncRead, BufReader, ReadBuf};

use super::lost::Lost;
use super::unreadable::{Frame, read, unreadable};

/// Returns a message with its structured content as a string; `None` if it has no such content.
pub(crate) fn marked(message: &str) -> Option<String> {
    /// The part of a message that leads to a result.
    #[derive(Deserialize)]
    struct Message<'a> {
        #[serde(borrow)]
        result: Option<Outer<'a>>,
    }
    /// The result of a call, or the state of a task, which holds one.
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Outer<'a> {
        #[serde(borrow)]
        structured_content: Option<&'a RawValue>,
        #[serde(borrow)]
        result: Option<Inner<'a>>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Inner<'a> {
        #[serde(borrow)]
        structured_content: Option<&'a RawValue>,
    }
    if !message.contains("\"structuredContent\"") {
        return None;
    }
    let result = serde_json::from_str::<Message<'_>>(message).ok()?.result?;
    let inner = result.result.and_then(|it| it.structured_content);
    let content = result.structured_content.or(inner)?.get();
    // The slice is borrowed from the message, so it starts within it.
    let start = (content.as_ptr() as usize).checked_sub(message.as_ptr() as usize)?;
    let (head, tail) = (message.get(..start)?, message.get(start + content.len()..)?);
    let string = Value::from(format!("{}{content}", mark()));
    Some(format!("{head}{string}{tail}"))
}

/// Returns the structured content of a result as text.
///
/// # Errors
/// The reason why the content cannot be recorded.
pub(crate) fn content(value: &Value) -> Result<Json, String> {
    let text = value.as_str().and_then(|it| it.strip_prefix(mark()));
    match text {
        Some(text) => Json::parse(text).map_err(|problem| problem.to_string()),
        // Not every transport shows the message as it was received.
        None => Ok(Json::of(value)),
    }
}

/// Returns the prefix, unique to this process.
pub(super) fn mark() -> &'static str {
    static MARK: OnceLock<String> = OnceLock::new();
    MARK.get_or_init(|| format!("recount:{}:", uuid::Uuid::new_v4()))
}

/// A reader of a server's messages, line by line, with structured content as a string.
pub(crate) struct MarkedLines<R> {
    lines: BufReader<R>,
    marker: Marker,
}

#[derive(Default)]
struct Marker {
    lost: Lost,
    /// The current line.
    line: Vec<u8>,
    /// Processed bytes that were not read yet.
    ready: Vec<u8>,
    at: usize,
    /// True within a line that exceeds the maximum length; its rest is dropped.
    is_long: bool,
}

impl<R: AsyncRead> MarkedLines<R> {
    pub(crate) fn of(reader: R, lost: Lost) -> MarkedLines<R> {
        let marker = Marker {
            lost,
            ..Marker::default()
        };
        MarkedLines {
            lines: BufReader::new(reader),
            marker,
        }
    }
}

impl Marker {
    /// Consumes the next bytes of the server, up to the end of a line.
    fn take(&mut self, bytes: &[u8]) -> usize {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(bytes.len(), |at| at + 1);
        if self.is_long {
            self.is_long = end.is_none();
            return taken;
        }
        self.line
            .extend_from_slice(bytes.get(..taken).unwrap_or_default());
        let is_long = self.line.len() > LINE_BYTES_MAX;
        if end.is_none() && !is_long {
            return taken;
        }
        let line = std::mem::take(&mut self.line);
        let frame = match is_long {
            true => match unreadable(&line, "it is too long", None) {
                Frame::AsItIs => Frame::Replaced(Vec::new()),
                frame => frame,
            },
            false => read(&line, None),
        };
        self.ready = match self.lost.handle(frame, line.trim_ascii().len()) {
            Some(messages) => lines(&messages).into_bytes(),
            None if is_long => Vec::new(),
            None => line,
        };
        (self.at, self.is_long) = (0, end.is_none());
        taken
    }
}

/// Writes messages as lines. Replaces line ends in the white space between members.
fn lines(messages: &[String]) -> String {
    let lines = messages.iter();
    let lines = lines.map(|it| it.trim_end().replace(['\n', '\r'], " ") + "\n");
    lines.collect()
}

impl<R: AsyncRead + Unpin> AsyncRead for MarkedLines<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let MarkedLines { lines, marker } = self.get_mut();
        loop {
            let ready = marker.ready.get(marker.at..).unwrap_or_default();
            if !ready.is_empty() {
                let (now, _) = ready.split_at(ready.len().min(out.remaining()));
                out.put_slice(now);
                marker.at += now.len();
                return Poll::Ready(Ok(()));
            }
            let bytes = ready!(Pin::new(&mut *lines).poll_fill_buf(context))?;
            if bytes.is_empty() {
                // At the end of the stream, an incomplete last line is forwarded unchanged.
                (marker.ready, marker.at) = (std::mem::take(&mut marker.line), 0);
                if marker.ready.is_empty() {
                    return Poll::Ready(Ok(()));
                }
                continue;
            }
            let taken = marker.take(bytes);
            Pin::new(&mut *lines).consume(taken);
        }
    }
}

/// The maximum length of a line, in bytes: the maximum size of an HTTP event.
const LINE_BYTES_MAX: usize = 16 << 20;

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use serde_json::json;
    use tokio::io::AsyncReadExt;

    use super::*;

    #[test]
    fn content_comes_back_as_it_was_written() {
        for content in [
            r#"{"b":20000000000000000001,"a":1.50}"#,
            "[1e-400]",
            "\"s\"",
        ] {
            for message in [
                format!(r#"{{"id":1,"result":{{"content":[],"structuredContent":{content}}}}}"#),
                format!(r#"{{"result":{{"result":{{"structuredContent": {content} }}}}}}"#),
            ] {
                let whole: Value = serde_json::from_str(&marked(&message).unwrap()).unwrap();
                let place = ["/result", "/result/result"].map(|it| {
                    whole
                        .pointer(&format!("{it}/structuredContent"))
                        .map(super::content)
                });
                let found: Vec<_> = place.into_iter().flatten().collect();
                assert_eq!(found, [Ok(Json::parse(content).unwrap())], "{message}");
            }
        }
    }

    #[test]
    fn message_without_a_result_stays() {
        for message in [
            r#"{"result":{"tools":[{"inputSchema":{"structuredContent":{}}}]}}"#,
            r#"{"params":{"structuredContent":1}}"#,
            r#"{"result":{"structuredContent":1,"structuredContent":2}}"#,
            "\"structuredContent\"",
        ] {
            assert_eq!(marked(message), None, "{message}");
        }
    }

    #[test]
    fn content_that_forges_the_mark_is_a_string() {
        let forged = json!("recount:00000000-0000-4000-8000-000000000000:7");
        assert_eq!(content(&forged), Ok(Json::of(&forged)));
    }

    #[tokio::test]
    async fn lines_are_forwarded_complete_in_any_chunks() {
        let message = r#"{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"n":1}}}"#;
        let text = format!("{{}}\n{message}\n\n{{\"a\":\"é\"}}\nrest");
        for piece in [1, 7, 1000] {
            let reader = BufReader::with_capacity(piece, text.as_bytes());
            let mut out = String::new();
            MarkedLines::of(reader, Lost::default())
                .read_to_string(&mut out)
                .await
                .unwrap();
            let expected = text.replace(message, &marked(message).unwrap());
            assert_eq!(out, expected);
        }
    }

    #[tokio::test]
    async fn line_that_is_too_long_ends_its_request() {
        let next = r#"{"jsonrpc":"2.0","id":2,"result":{}}"#;
        let long = "x".repeat(LINE_BYTES_MAX + 20_000);
        for (text, ends) in [
            (
                format!("{{\"id\":1,\"result\":\"{long}\"}}\n{next}\n"),
                true,
            ),
            (
                format!("{{\"method\":\"a\",\"params\":\"{long}\"}}\n{next}\n"),
                false,
            ),
        ] {
            let mut out = String::new();
            let mut lines = MarkedLines::of(text.as_bytes(), Lost::default());
            lines.read_to_string(&mut out).await.unwrap();
            let mut messages: Vec<Value> = out
                .lines()
                .map(|it| serde_json::from_str(it).unwrap())
                .collect();
            let last = messages.pop().unwrap();
            assert_eq!(last.get("id"), Some(&json!(2)));
            let ended = messages.iter().map(|it| {
                let is_error = it.get("error").is_some_and(Value::is_object);
                is_error && it.get("id") == Some(&json!(1))
            });
            assert_eq!(ended.collect::<Vec<_>>(), vec![true; usize::from(ends)]);
        }
    }

    #[tokio::test]
    async fn messages_of_a_batch_come_one_by_one() {
        let messages = [
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","method":"a"}"#,
        ];
        let text = format!("\u{feff}[{},\t{}]\n", messages[0], messages[1]);
        let mut out = String::new();
        let mut lines = MarkedLines::of(text.as_bytes(), Lost::default());
        lines.read_to_string(&mut out).await.unwrap();
        assert_eq!(out.lines().collect::<Vec<_>>(), messages);
    }
}
