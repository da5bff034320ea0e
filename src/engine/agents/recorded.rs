//! What of a session goes into a fixture, if it is recorded.
//!
//! All of it is told by the session's own task, in the order in which it deals with things: what a
//! connection has received and nobody has looked at yet has not happened.

use std::sync::Arc;

use super::redaction::Redactor;
use crate::engine::clock::Clock;
use crate::fixture::{Recorder, Step};
use crate::session::{Json, SessionId};

/// The recorder of one session's connection.
pub(in crate::engine) struct OfSession {
    pub(in crate::engine) recorder: Arc<Recorder>,
    pub(in crate::engine) session: SessionId,
    pub(in crate::engine) clock: Arc<dyn Clock>,
}

impl OfSession {
    /// A frame leaves.
    pub(in crate::engine) fn sent(&self, frame: &str) {
        let (session, now) = (self.session, self.clock.now());
        self.recorder.step(session, now, sent(frame));
    }
}

/// A frame as it leaves. It holds nothing that was not on record before, so it was redacted with
/// that.
pub(in crate::engine) fn sent(frame: &str) -> Step {
    Step::FrameOut(Json::parse(frame).unwrap_or_else(|_| Json::empty_object()))
}

pub(in crate::engine) fn received(text: &str, redactor: Option<&Redactor>) -> Step {
    match (Json::parse(text), redactor) {
        (Ok(frame), None) => Step::FrameIn(frame),
        (Ok(frame), Some(redactor)) => {
            let redacted = redactor.in_json(frame.as_str());
            let redacted = redacted.and_then(|it| Json::parse(&it).ok());
            Step::FrameIn(redacted.unwrap_or(frame))
        }
        (Err(_), None) => Step::TextIn(text.to_owned()),
        // It is no JSON, so nobody knows where in it the texts are.
        (Err(_), Some(_)) => Step::TextIn("[redacted]".to_owned()),
    }
}
