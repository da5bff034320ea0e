//! Events: observations and decisions, named in the past tense, with their place in the session.

use std::fmt;

use super::decision::Decision;
use super::observation::Observation;
use super::upcast::upcast;
use crate::values::id::Seq;
use crate::values::time::Timestamp;

/// A fact of the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// An observation of the world outside.
    Observed(Observation),
    /// A conclusion of the engine.
    Decided(Decision),
}

/// An event with its place, ready to be folded into the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// The sequence number, from 1.
    pub seq: Seq,
    /// The time at which it was recorded. The records of one batch share it.
    pub at: Timestamp,
    /// The record that directly caused it.
    pub cause: Option<Seq>,
    /// The event.
    pub event: Event,
}

/// An error for a body that does not have the shape of its kind.
#[derive(Debug)]
pub enum DecodeError {
    /// No event has this kind. A newer program may have written it.
    UnknownKind(String),
    /// The kind is known, but the body does not have its shape.
    Body {
        /// The kind.
        kind: String,
        /// The error of serde.
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

    /// Returns the body as JSON text.
    ///
    /// # Errors
    /// Only if a body cannot be serialized, which does not happen for these events.
    pub fn body(&self) -> Result<String, serde_json::Error> {
        match self {
            Event::Observed(observation) => observation.body(),
            Event::Decided(decision) => decision.body(),
        }
    }

    /// Appends the body as JSON text to `out`.
    #[doc(hidden)]
    pub fn write_body(&self, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        match self {
            Event::Observed(observation) => observation.write_body(out),
            Event::Decided(decision) => decision.write_body(out),
        }
    }

    /// True if an event has this kind.
    #[doc(hidden)]
    pub fn is_known(kind: &str) -> bool {
        Observation::KINDS.contains(&kind) || Decision::KINDS.contains(&kind)
    }

    /// Parses an event from its kind and body, also from a body of an older version. All readers
    /// use this function.
    ///
    /// ```
    /// use recount_session::{Event, Observation};
    /// let event = Event::decode("runner_detached", r#"{"reason":"shutdown"}"#).unwrap();
    /// assert!(matches!(event, Event::Observed(Observation::RunnerDetached(_))));
    /// ```
    ///
    /// # Errors
    /// [`DecodeError`] if no event has the kind, or the body does not have its shape.
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
