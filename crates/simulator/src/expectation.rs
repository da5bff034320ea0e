//! Expectations of a script: messages that the client must or must not send.

use std::fmt;

use serde_json::Value;

use recount_wire::{ClientMessage, DecodeError, Fields};

use super::reading::{nothing_left, unknown};
use super::transcript::{ConnectionId, Transcript, user_words};

/// A message that the client must or must not send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expectation {
    /// The line in the script, counted from 1.
    pub(super) line: usize,
    /// The connection, or `None` for any connection.
    connection: Option<u32>,
    is_never: bool,
    wanted: Wanted,
}

/// The expected message.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Wanted {
    /// A setup with this handle.
    Handle(String),
    /// A setup without a handle.
    NoHandle,
    /// User text that contains this text, in lower case.
    Told(String),
    /// A tool response with this id.
    ResponseTo(String),
    /// A message that contains at least these values.
    Message(Value),
}

/// An expectation of the script that is not met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmet {
    /// The line in the script, counted from 1.
    pub line: usize,
    /// The number of the connection, counted from 1. `None` if any connection would have met it.
    pub connection: Option<u32>,
    /// The expectation.
    pub expected: String,
    /// The actual messages.
    pub found: String,
}

impl Expectation {
    /// Parses the line if it is an expectation.
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

    /// Returns the violation, if the expectation is not met.
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
            // Decoding it as a message first makes both spellings equal.
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

    /// Describes the actual messages of the same kind.
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

/// True if `whole` contains `part`: the fields of objects, and the items of lists in order.
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

/// Returns the handle in a setup.
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
