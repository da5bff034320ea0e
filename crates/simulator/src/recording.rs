//! Recordings of frames as lines of JSON without secrets.

use serde_json::{Map, Value, json};
use tokio_tungstenite::tungstenite::handshake::server::Request;

use recount_wire::{DecodeError, Fields, RawJson};

use super::transcript::{ConnectionId, Side};

/// One frame as it was sent.
///
/// [`line`](Self::line) formats it for a recording: the original message with all digits and its
/// own spelling, but with handles, keys and tokens replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The connection.
    pub connection: ConnectionId,
    /// The sender.
    pub by: Side,
    /// `handshake`, `text` or `binary`.
    pub opcode: &'static str,
    /// The message as JSON, or a JSON string for other data.
    pub message: String,
}

impl Frame {
    /// Creates the frame for a client's handshake, with its path and headers.
    pub(super) fn handshake(connection: ConnectionId, request: &Request) -> Self {
        let headers: Map<String, Value> = request
            .headers()
            .iter()
            .map(|(name, value)| {
                let value = value.to_str().unwrap_or_default();
                (name.as_str().to_owned(), header(name.as_str(), value))
            })
            .collect();
        let uri = request.uri();
        let path = match uri.query() {
            Some(query) => format!("{}?{}", uri.path(), without_secrets(query)),
            None => uri.path().to_owned(),
        };
        Self {
            connection,
            by: Side::Client,
            opcode: "handshake",
            message: json!({"method": "GET", "path": path, "headers": headers}).to_string(),
        }
    }

    pub(super) fn new(
        connection: ConnectionId,
        by: Side,
        opcode: &'static str,
        message: &str,
    ) -> Self {
        let readable = RawJson::parse(message).and_then(|whole| replaced(&whole, HANDLES));
        Self {
            connection,
            by,
            opcode,
            message: match readable {
                // Line ends in JSON occur only between tokens.
                Ok(text) => text.replace(['\n', '\r'], " "),
                // Data that is not JSON cannot be searched for secrets.
                Err(_) => {
                    Value::from(format!("{} bytes that are no JSON", message.len())).to_string()
                }
            },
        }
    }

    /// Returns one line of a recording, without its line end.
    ///
    /// ```json
    /// {"direction": "client->server", "connection": 1, "opcode": "text",
    ///  "message": {"setup": {"model": "models/m"}}}
    /// ```
    pub fn line(&self) -> String {
        let direction = match self.by {
            Side::Client => "client->server",
            Side::Service => "server->client",
        };
        format!(
            r#"{{"direction":"{direction}","connection":{},"opcode":"{}","message":{}}}"#,
            self.connection, self.opcode, self.message
        )
    }
}

fn header(name: &str, value: &str) -> Value {
    let kept = match name {
        "authorization" | "proxy-authorization" => {
            let scheme = value.split(' ').next().unwrap_or_default();
            format!("<redacted:{scheme}>")
        }
        "x-goog-api-key" | "cookie" => "<redacted>".to_owned(),
        _ => value.to_owned(),
    };
    Value::from(kept)
}

/// Removes the values of all query parameters that are not known to be harmless.
fn without_secrets(query: &str) -> String {
    let pairs: Vec<String> = query
        .split('&')
        .map(|pair| match pair.split_once('=') {
            Some((name, _)) if name != "alt" => format!("{name}=<redacted>"),
            Some(_) | None => pair.to_owned(),
        })
        .collect();
    pairs.join("&")
}

/// The paths of handles, with both spellings of each name.
const HANDLES: &[&[[&str; 2]]] = &[
    &[
        ["setup", "setup"],
        ["sessionResumption", "session_resumption"],
        ["handle", "handle"],
    ],
    &[
        ["sessionResumptionUpdate", "session_resumption_update"],
        ["newHandle", "new_handle"],
    ],
];

/// Replaces each secret in `value` and keeps all other tokens.
fn replaced(value: &RawJson, secrets: &[&[[&str; 2]]]) -> Result<String, DecodeError> {
    if secrets.is_empty() || !value.as_str().starts_with('{') {
        return Ok(value.as_str().to_owned());
    }
    let mut fields = Vec::new();
    for (name, inner) in Fields::of(value)?.rest(&[])?.iter() {
        let below: Vec<&[[&str; 2]]> = secrets
            .iter()
            .filter_map(|path| path.split_first())
            .filter(|(first, _)| first.contains(&name))
            .map(|(_, rest)| rest)
            .collect();
        let text = if below.iter().any(|path| path.is_empty()) {
            Value::from("<redacted:handle>").to_string()
        } else {
            replaced(inner, &below)?
        };
        fields.push(format!("{}:{text}", Value::from(name)));
    }
    Ok(format!("{{{}}}", fields.join(",")))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    fn line(by: Side, message: &str) -> String {
        Frame::new(ConnectionId(2), by, "text", message).line()
    }

    #[test]
    fn recorded_message_is_unchanged_but_for_its_handle() {
        let sent = r#"{"setup":{"model":"m","generation_config":{"top_k":40.0},"session_resumption":{"handle":"s3cret"}}}"#;
        assert_eq!(
            line(Side::Client, sent),
            r#"{"direction":"client->server","connection":2,"opcode":"text","message":{"setup":{"model":"m","generation_config":{"top_k":40.0},"session_resumption":{"handle":"<redacted:handle>"}}}}"#
        );
        let issued = r#"{"sessionResumptionUpdate":{"newHandle":"s3cret","resumable":true}}"#;
        assert!(!line(Side::Service, issued).contains("s3cret"));
    }

    #[test]
    fn a_message_over_several_lines_is_one_line() {
        let line = line(Side::Client, "{\"toolResponse\":[\r\n1,\n2]}\n");
        assert!(!line.contains(['\n', '\r']), "{line}");
        assert!(line.ends_with(r#"{"toolResponse":[  1, 2]}}"#), "{line}");
    }

    #[test]
    fn value_that_only_looks_like_a_handle_is_kept() {
        let sent = r#"{"toolResponse":{"functionResponses":[{"response":{"handle":"door"}}]},"handle":9007199254740993}"#;
        assert!(line(Side::Client, sent).contains(sent));
    }

    #[test]
    fn non_message_data_is_not_quoted() {
        let line = line(Side::Client, "{\"setup\": s3cret");
        let read: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(
            read.get("message"),
            Some(&json!("16 bytes that are no JSON"))
        );
    }

    #[test]
    fn a_handshake_keeps_no_key() {
        let request = Request::builder()
            .uri("/ws/x?alt=ws&key=s3cret&access_token=s3cret")
            .header("x-goog-api-key", "s3cret")
            .header("authorization", "Bearer s3cret")
            .header("user-agent", "test")
            .body(())
            .unwrap();
        let line = Frame::handshake(ConnectionId(1), &request).line();
        assert!(!line.contains("s3cret"), "{line}");
        assert!(line.contains("alt=ws&key=<redacted>") && line.contains("<redacted:Bearer>"));
        assert!(line.contains(r#""user-agent":"test""#), "{line}");
    }
}
