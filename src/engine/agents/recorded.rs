//! The parts of a session that are recorded in a fixture.
//!
//! The session's own task records them all, in the order in which it handles them. A received
//! message that is not handled yet is not part of the fixture.

use std::sync::Arc;

use super::redaction::Redactor;
use crate::engine::clock::Clock;
use crate::fixture::{Recorder, Step};
use crate::session::{Json, SessionId};

/// The recorder of one session's connection.
pub(in crate::engine) struct SessionRecorder {
    pub(in crate::engine) recorder: Arc<Recorder>,
    pub(in crate::engine) session: SessionId,
    pub(in crate::engine) clock: Arc<dyn Clock>,
}

impl SessionRecorder {
    /// Records a sent frame.
    pub(in crate::engine) fn sent(&self, frame: &str) {
        let (session, now) = (self.session, self.clock.now());
        self.recorder.step(session, now, sent(frame));
    }
}

/// Returns the step of a sent frame. It contains only recorded data, which was redacted already.
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
        // It is no JSON, so the redactor cannot find the texts in it.
        (Err(_), Some(_)) => Step::TextIn("[redacted]".to_owned()),
    }
}
