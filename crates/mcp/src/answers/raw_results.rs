//! Results as a server wrote them: rmcp reads structured content into a value, in which some
//! numbers become others.
//!
//! So it never sees that content. In the message that comes in stands a string in its place, which
//! holds the text, and which is recognised by a prefix that no server knows.

use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll, ready};

use recount_session::Json;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::io::{AsyncBufRead, AsyncRead, BufReader, ReadBuf};

/// The message of a server with its structured content as a string, or none where it has none.
pub(crate) fn marked(message: &str) -> Option<String> {
    /// A message, as far as it leads to a result.
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
    // It was borrowed from the message, so it begins within it.
    let start = (content.as_ptr() as usize).checked_sub(message.as_ptr() as usize)?;
    let (head, tail) = (message.get(..start)?, message.get(start + content.len()..)?);
    let string = Value::from(format!("{}{content}", mark()));
    Some(format!("{head}{string}{tail}"))
}

/// The structured content of a result as text.
///
/// # Errors
/// The reason for which it cannot be on record.
pub(crate) fn content(value: &Value) -> Result<Json, String> {
    let text = value.as_str().and_then(|it| it.strip_prefix(mark()));
    match text {
        Some(text) => Json::parse(text).map_err(|problem| problem.to_string()),
        // Not every way to a server lets the message be seen as it came.
        None => Ok(Json::of(value)),
    }
}

/// The prefix of this process.
fn mark() -> &'static str {
    static MARK: OnceLock<String> = OnceLock::new();
    MARK.get_or_init(|| format!("recount:{}:", uuid::Uuid::new_v4()))
}

/// The messages of a server, line by line, each with its structured content as a string.
pub(crate) struct MarkedLines<R> {
    lines: BufReader<R>,
    marker: Marker,
}

#[derive(Default)]
struct Marker {
    /// The line that is being read.
    line: Vec<u8>,
    /// Bytes that were read and not handed on yet.
    ready: Vec<u8>,
    at: usize,
    /// True within a line that is too long to be kept, and goes on as it is.
    is_long: bool,
}

impl<R: AsyncRead> MarkedLines<R> {
    pub(crate) fn of(reader: R) -> MarkedLines<R> {
        MarkedLines {
            lines: BufReader::new(reader),
            marker: Marker::default(),
        }
    }
}

impl Marker {
    /// Takes the next bytes of the server, up to the end of a line.
    fn take(&mut self, bytes: &[u8]) -> usize {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(bytes.len(), |at| at + 1);
        self.line
            .extend_from_slice(bytes.get(..taken).unwrap_or_default());
        if end.is_none() && !self.is_long && self.line.len() < LINE_BYTES_MAX {
            return taken;
        }
        let line = std::mem::take(&mut self.line);
        let text = str::from_utf8(&line).ok().filter(|_| !self.is_long);
        self.ready = match text.and_then(marked) {
            Some(marked) => marked.into_bytes(),
            None => line,
        };
        (self.at, self.is_long) = (0, end.is_none());
        taken
    }
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
                // The end; what stands behind the last line goes on as it is.
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

/// The longest line that is read as a message; rmcp takes none that is longer.
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
    async fn lines_go_on_whole_however_they_come() {
        let message = r#"{"result":{"structuredContent":{"n":1}}}"#;
        let text = format!("{{}}\n{message}\n\n{{\"a\":\"é\"}}\nrest");
        for piece in [1, 7, 1000] {
            let reader = BufReader::with_capacity(piece, text.as_bytes());
            let mut out = String::new();
            MarkedLines::of(reader)
                .read_to_string(&mut out)
                .await
                .unwrap();
            let expected = text.replace(message, &marked(message).unwrap());
            assert_eq!(out, expected);
        }
    }
}
