//! What a script wants the client to send, and never to send.

use std::fmt;

use serde_json::Value;

use recount_wire::{ClientMessage, DecodeError, Fields};

use super::reading::{nothing_left, unknown};
use super::transcript::{ConnectionId, Transcript, user_words};

/// A message that a client shall send, or shall not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expectation {
    /// Of the script, counted from 1.
    pub(super) line: usize,
    /// On this connection; on any where there is none.
    connection: Option<u32>,
    is_never: bool,
    wanted: Wanted,
}

/// Which message is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Wanted {
    /// A setup with this handle.
    Handle(String),
    /// A setup without a handle.
    NoHandle,
    /// Words of the user that contain this, compared in lower case.
    Told(String),
    /// A tool response with this id.
    ResponseTo(String),
    /// A message that has all of this, and maybe more.
    Message(Value),
}

/// An expectation of the script that did not come true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmet {
    /// The line of the script, counted from 1.
    pub line: usize,
    /// On which connection, counted from 1; none where any would have done.
    pub connection: Option<u32>,
    /// What was expected.
    pub expected: String,
    /// What came.
    pub found: String,
}

impl Expectation {
    /// Reads the line if it is an expectation.
    pub(super) fn take(
        fields: &mut Fields,
        line: usize,
        connection: Option<u32>,
    ) -> Result<Option<Self>, DecodeError> {
        let (name, raw, is_never) = match (fields.raw("expect")?, fields.raw("never")?) {
            (Some(raw), None) => ("expect", raw, false),
            (None, Some(raw)) => ("never", raw, true),
            (None, None) => return Ok(None),
            (Some(_), Some(_)) => {
                return Err(DecodeError::new("expect or never", "both"));
            }
        };
        let wanted = Wanted::read(&mut Fields::of(&raw)?).map_err(|error| error.under(name))?;
        Ok(Some(Self {
            line,
            connection,
            is_never,
            wanted,
        }))
    }

    /// What speaks against it, if it has not come true.
    pub(super) fn unmet(&self, transcript: &Transcript) -> Option<Unmet> {
        let candidates: Vec<&ClientMessage> = transcript
            .received()
            .filter(|(connection, _)| self.concerns(*connection))
            .map(|(_, message)| message)
            .collect();
        let has_come = candidates
            .iter()
            .any(|message| self.wanted.is_met_by(message));
        if has_come != self.is_never {
            return None;
        }
        let never = if self.is_never { "never " } else { "" };
        let found = if self.is_never {
            "it".to_owned()
        } else if candidates.is_empty() {
            "no message".to_owned()
        } else {
            self.wanted.nearest(&candidates)
        };
        Some(Unmet {
            line: self.line,
            connection: self.connection,
            expected: format!("{never}{}", self.wanted),
            found,
        })
    }

    fn concerns(&self, connection: ConnectionId) -> bool {
        self.connection.is_none_or(|only| only == connection.0)
    }
}

impl Wanted {
    fn read(fields: &mut Fields) -> Result<Self, DecodeError> {
        let wanted = if let Some(handle) = fields.string("handle")? {
            Self::Handle(handle)
        } else if fields.boolean("noHandle")? == Some(true) {
            Self::NoHandle
        } else if let Some(words) = fields.string("told")? {
            Self::Told(words.to_lowercase())
        } else if let Some(id) = fields.string("responseTo")? {
            Self::ResponseTo(id)
        } else if let Some(message) = fields.raw("message")? {
            // Read as a message first, so that both spellings are the same one.
            let message = ClientMessage::decode(message.as_str())
                .map_err(|error| error.under("message"))?
                .encode();
            Self::Message(serde_json::from_str(&message).unwrap_or_default())
        } else {
            let left = fields.rest(&[])?;
            let found = left.iter().next().map(|(name, _)| name);
            return Err(unknown("one of", SHORT_FORMS, found));
        };
        nothing_left(fields, &[])?;
        Ok(wanted)
    }

    fn is_met_by(&self, message: &ClientMessage) -> bool {
        match self {
            Self::Handle(wanted) => {
                message.setup.is_some() && handle_of(message) == Some(wanted.as_str())
            }
            Self::NoHandle => message.setup.is_some() && handle_of(message).is_none(),
            Self::Told(words) => user_words(message).to_lowercase().contains(words),
            Self::ResponseTo(id) => ids_answered(message).any(|answered| answered == id),
            Self::Message(part) => serde_json::from_str(&message.encode())
                .is_ok_and(|whole: Value| contains(&whole, part)),
        }
    }

    /// What of the same kind came instead.
    fn nearest(&self, messages: &[&ClientMessage]) -> String {
        let found: Vec<String> = match self {
            Self::Handle(_) | Self::NoHandle => messages
                .iter()
                .filter(|message| message.setup.is_some())
                .map(|message| match handle_of(message) {
                    Some(handle) => format!("the handle {handle:?}"),
                    None => "no handle".to_owned(),
                })
                .collect(),
            Self::Told(_) => messages
                .iter()
                .map(|message| user_words(message))
                .filter(|words| !words.is_empty())
                .map(|words| format!("{words:?}"))
                .collect(),
            Self::ResponseTo(_) => messages
                .iter()
                .flat_map(|message| ids_answered(message))
                .map(|id| format!("a response to {id:?}"))
                .collect(),
            Self::Message(_) => messages
                .iter()
                .flat_map(|message| message.payloads())
                .map(str::to_owned)
                .collect(),
        };
        if found.is_empty() {
            return "nothing of that kind".to_owned();
        }
        found.join(", ")
    }
}

/// Whether `whole` has everything that `part` has: of objects the fields, of lists the items in
/// order.
fn contains(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => part
            .iter()
            .all(|(name, wanted)| whole.get(name).is_some_and(|value| contains(value, wanted))),
        (Value::Array(whole), Value::Array(part)) => {
            let mut left = whole.iter();
            part.iter()
                .all(|wanted| left.any(|item| contains(item, wanted)))
        }
        (whole, part) => whole == part,
    }
}

/// The handle that a setup brings.
pub(super) fn handle_of(message: &ClientMessage) -> Option<&str> {
    let resumption = message.setup.as_ref()?.session_resumption.as_ref()?;
    resumption
        .handle
        .as_deref()
        .filter(|handle| !handle.is_empty())
}

fn ids_answered(message: &ClientMessage) -> impl Iterator<Item = &String> {
    message
        .tool_response
        .iter()
        .flat_map(|response| &response.function_responses)
        .filter_map(|response| response.id.as_ref())
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Handle(handle) => write!(f, "a setup with the handle {handle:?}"),
            Self::NoHandle => f.write_str("a setup without a handle"),
            Self::Told(words) => write!(f, "words of the user with {words:?}"),
            Self::ResponseTo(id) => write!(f, "a response to {id:?}"),
            Self::Message(part) => write!(f, "a message with {part}"),
        }
    }
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: expected {}", self.line, self.expected)?;
        if let Some(connection) = self.connection {
            write!(f, " on connection {connection}")?;
        }
        write!(f, ", found {}", self.found)
    }
}

const SHORT_FORMS: &[&str] = &["handle", "no_handle", "told", "response_to", "message"];
