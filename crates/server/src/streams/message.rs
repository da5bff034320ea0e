//! A message of a stream, in the format of server-sent events.

use axum::body::Bytes;
use serde::Serialize;

use crate::problems::{Code, Problem};

/// A line that clients ignore. It keeps proxies from closing a silent connection.
pub(super) const HEARTBEAT: &[u8] = b": heartbeat\n\n";

/// A message: the name of an event, its id if a client can continue from it, and its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) event: &'static str,
    pub(crate) id: Option<u64>,
    /// The data: one JSON text.
    pub(crate) data: String,
}

impl Message {
    /// The message as bytes of the stream.
    pub(super) fn bytes(&self) -> Bytes {
        let mut text = String::with_capacity(self.data.len() + 64);
        if let Some(id) = self.id {
            text.push_str(&format!("id: {id}\n"));
        }
        text.push_str(&format!("event: {}\n", self.event));
        // JSON may have line breaks between its tokens, where a blank means the same.
        for line in self.data.split(['\n', '\r']) {
            text.push_str("data: ");
            text.push_str(line);
            text.push('\n');
        }
        text.push('\n');
        text.into()
    }
}

/// The JSON text of a value.
pub(crate) fn json(value: &impl Serialize) -> Result<String, Problem> {
    serde_json::to_string(value).map_err(|error| Problem::new(Code::Broken, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_is_written_line_by_line() {
        let message = |data: &str, id| Message {
            event: "record",
            id,
            data: data.to_owned(),
        };
        let plain = message(r#"{"a":1}"#, Some(5)).bytes();
        assert_eq!(plain, "id: 5\nevent: record\ndata: {\"a\":1}\n\n");
        let broken = message("{\r\n\"a\":1}", None).bytes();
        assert_eq!(broken, "event: record\ndata: {\ndata: \ndata: \"a\":1}\n\n");
    }
}
