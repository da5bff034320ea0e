//! The members of a frame that identify its request, even if the frame is invalid JSON.

use rmcp::model::RequestId;

/// The outermost members of a frame, as far as they can be found.
#[derive(Default)]
pub(super) struct Head {
    /// True for a batch, whose messages share the members; their ids are ignored.
    is_batch: bool,
    pub(super) id: Option<RequestId>,
    pub(super) method: Option<String>,
    pub(super) has_result: bool,
    has_error: bool,
}

impl Head {
    pub(super) fn of(frame: &[u8]) -> Head {
        let frame = frame.strip_prefix(BOM).unwrap_or(frame).trim_ascii_start();
        let mut head = Head {
            is_batch: frame.first() == Some(&b'['),
            ..Head::default()
        };
        let members_at = if head.is_batch { 2 } else { 1 };
        let (mut depth, mut last, mut at) = (0_usize, &b""[..], 0);
        while let Some(byte) = frame.get(at) {
            match byte {
                b'"' => {
                    let length = string(frame.get(at..).unwrap_or_default());
                    last = frame.get(at + 1..at + length - 1).unwrap_or_default();
                    at += length;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.saturating_sub(1),
                b':' if depth == members_at => {
                    head.member(last, frame.get(at + 1..).unwrap_or_default());
                }
                _ if depth == 0 && !byte.is_ascii_whitespace() => break,
                _ => {}
            }
            at += 1;
        }
        head
    }

    /// True for a request or a notification. A message with a result is always an answer.
    pub(super) fn is_asked(&self) -> bool {
        self.method.is_some() && !self.has_result && !self.has_error
    }

    /// True for an answer.
    pub(super) fn is_answer(&self) -> bool {
        self.has_result || self.has_error
    }

    fn member(&mut self, key: &[u8], rest: &[u8]) {
        let value = rest.trim_ascii_start();
        match key {
            b"method" => {
                let method = value.get(..string(value)).unwrap_or_default();
                self.method = Some(serde_json::from_slice(method).unwrap_or_default());
            }
            b"result" => self.has_result = true,
            b"error" => self.has_error = true,
            b"id" if self.id.is_none() && !self.is_batch => {
                let ends = |it: &u8| it.is_ascii_whitespace() || b",]}".contains(it);
                let length = match value.first() {
                    Some(b'"') => string(value),
                    _ => value.iter().position(ends).unwrap_or(value.len()),
                };
                let value = value.get(..length).unwrap_or_default();
                self.id = serde_json::from_slice(value).ok();
            }
            _ => {}
        }
    }
}

/// Returns the length of the string at the start of these bytes, including its quotes.
fn string(bytes: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len().max(2)
}

/// The UTF-8 byte order mark that may precede a frame.
const BOM: &[u8] = b"\xef\xbb\xbf";

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(frame: &str) -> (Option<String>, bool, bool) {
        let head = Head::of(frame.as_bytes());
        let id = head.id.as_ref().map(RequestId::to_string);
        (id, head.is_asked(), head.is_answer())
    }

    #[test]
    fn head_is_found_in_invalid_json() {
        let of = |id: &str| (Some(id.to_owned()), false, true);
        for (frame, expected) in [
            (r#"{"id":7,"result":{"content":[}"#, of("7")),
            (r#"{"result":{"id":1,"a":"\"id\":2"},"id" : 7}"#, of("7")),
            (r#"{"id":"a\"b","error":{"#, of("a\"b")),
            ("\u{feff} {\"id\":1e2,\"result\":", of("100")),
            (r#"{"id":7.0,"method":"x","result":1e400}"#, of("7")),
            (r#"{"id":7.5,"result":{}}"#, (None, false, true)),
            (r#"{"id":null,"result":{}}"#, (None, false, true)),
            (r#"{"id":7}"#, (Some("7".to_owned()), false, false)),
            (
                r#"{"id":7,"method":"x","params":{"result":1}"#,
                (Some("7".to_owned()), true, false),
            ),
            (r#"{"method":"x","params":{"id":1"#, (None, true, false)),
            (r#"[{"id":1,"result":{}},{"id":2"#, (None, false, true)),
            (r#"ready {"id":1,"result":{}}"#, (None, false, false)),
            (r#"{"id":"#, (None, false, false)),
            ("\"id", (None, false, false)),
            ("", (None, false, false)),
        ] {
            assert_eq!(parts(frame), expected, "{frame}");
        }
    }
}
