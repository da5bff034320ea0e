//! An event: an observation or a decision, past tense, with its place in the session.

use std::fmt;

use super::decision::Decision;
use super::observation::Observation;
use super::upcast::upcast;
use crate::values::id::Seq;
use crate::values::time::Timestamp;

/// A fact of the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The world did it.
    Observed(Observation),
    /// The engine concluded it.
    Decided(Decision),
}

/// An event at its place: what is folded into the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Its place, from 1.
    pub seq: Seq,
    /// When it was recorded; the records of one batch share it.
    pub at: Timestamp,
    /// The record that directly led here.
    pub cause: Option<Seq>,
    /// What happened.
    pub event: Event,
}

/// A body that is not of the shape its kind says.
#[derive(Debug)]
pub enum DecodeError {
    /// No event has this kind; a newer program may have written it.
    UnknownKind(String),
    /// The kind is known, the body is not of its shape.
    Body {
        /// The kind.
        kind: String,
        /// What serde found.
        source: serde_json::Error,
    },
}

impl Event {
    /// The kind, as the journal spells it.
    pub fn kind(&self) -> &'static str {
        match self {
            Event::Observed(observation) => observation.kind(),
            Event::Decided(decision) => decision.kind(),
        }
    }

    /// The body as JSON text.
    ///
    /// # Errors
    /// Only if a body cannot be written as JSON, which no event here does.
    pub fn body(&self) -> Result<String, serde_json::Error> {
        match self {
            Event::Observed(observation) => observation.body(),
            Event::Decided(decision) => decision.body(),
        }
    }

    /// Writes the body as JSON text behind what `out` holds.
    #[doc(hidden)]
    pub fn write_body(&self, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        match self {
            Event::Observed(observation) => observation.write_body(out),
            Event::Decided(decision) => decision.write_body(out),
        }
    }

    /// Whether an event is of this kind.
    #[doc(hidden)]
    pub fn is_known(kind: &str) -> bool {
        Observation::KINDS.contains(&kind) || Decision::KINDS.contains(&kind)
    }

    /// Reads an event back from its kind and body, which an older version may have written: all
    /// that reads one reads it here.
    ///
    /// ```
    /// use recount_session::{Event, Observation};
    /// let event = Event::decode("runner_detached", r#"{"reason":"shutdown"}"#).unwrap();
    /// assert!(matches!(event, Event::Observed(Observation::RunnerDetached(_))));
    /// ```
    ///
    /// # Errors
    /// [`DecodeError`] where no event has the kind, or the body is not of its shape.
    pub fn decode(kind: &str, body: &str) -> Result<Event, DecodeError> {
        let body = upcast(kind, body);
        let decoded = Observation::decode(kind, &body).or_else(|| Decision::decode(kind, &body));
        match decoded {
            Some(Ok(event)) => Ok(event),
            Some(Err(source)) => Err(DecodeError::Body {
                kind: kind.to_owned(),
                source,
            }),
            None => Err(DecodeError::UnknownKind(kind.to_owned())),
        }
    }
}

impl From<Observation> for Event {
    fn from(it: Observation) -> Event {
        Event::Observed(it)
    }
}

impl From<Decision> for Event {
    fn from(it: Decision) -> Event {
        Event::Decided(it)
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DecodeError::UnknownKind(kind) => write!(f, "no event is of kind {kind:?}"),
            DecodeError::Body { kind, .. } => write!(f, "the body of {kind} is not of its shape"),
        }
    }
}

impl std::error::Error for DecodeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            DecodeError::UnknownKind(_) => None,
            DecodeError::Body { source, .. } => Some(source),
        }
    }
}
