//! What of a session goes into a fixture, if it is recorded.
//!
//! All of it is told by the session's own task, in the order in which it deals with things: what a connection has received and
//! nobody has looked at yet has not happened.

use std::sync::Arc;

use super::agent::Agent;
#[cfg(feature = "live")]
use super::live::LiveBuilder;
use super::prepared::Prepared;
use super::redaction::Redactor;
use super::task::SessionTask;
use super::{Clock, PROGRAM};
use crate::fixture::{Recorder, Recording, Refused, Served, Step};
use crate::session::{Fact, Json, SessionId};

impl Agent {
    /// Records every session that begins, each as a fixture in a directory of its own below this one, by the session's id.
    ///
    /// What is recorded is in clear, so an agent that is [`sealed`](Agent::sealed) is not. Arguments that a tool declares secret are
    /// taken out, and so is what the agent [redacts](Agent::redact) and what the [`Recording`] names. What
    /// cannot be written ends the recording, not the session; the log of the machinery says so.
    ///
    /// ```
    /// use recount::fixture::Recording;
    /// use recount::prelude::*;
    ///
    /// let agent = Agent::new()
    ///     .model("gemini-live-2.5-flash")
    ///     .record_to(Recording::to("recorded").redacting("/card"));
    /// # let _ = agent;
    /// ```
    pub fn record_to(mut self, recording: impl Into<Recording>) -> Agent {
        self.recording = Some((recording.into(), false));
        self
    }

    /// What keeps it from being recorded.
    pub(super) fn recording_mistakes(&self) -> Vec<String> {
        let Some((recording, one)) = &self.recording else {
            return Vec::new();
        };
        let mut mistakes = recording.mistakes(*one);
        if self.is_sealed() {
            mistakes.push("its sessions are sealed, and a recording would be in clear".to_owned());
        }
        mistakes
    }
}

#[cfg(feature = "live")]
impl LiveBuilder {
    /// Records the session as a fixture in this directory, which holds none yet; see [`Agent::record_to`].
    ///
    /// ```
    /// # async fn example(model: recount::testing::ScriptedModel) -> Result<(), Box<dyn std::error::Error>> {
    /// use recount::prelude::*;
    ///
    /// let live = Live::builder().model("gemini-live-2.5-flash").record_to("fixtures/refund").connect_with(model).await?;
    /// live.send_text("Please refund order 17.").await?;
    /// # Ok(()) }
    /// ```
    pub fn record_to(mut self, recording: impl Into<Recording>) -> LiveBuilder {
        self.agent.recording = Some((recording.into(), true));
        self
    }
}

impl Prepared {
    /// The agent with whoever writes its sessions down.
    pub(super) fn recorded(mut self, recording: Option<(Recording, bool)>) -> Prepared {
        self.recorder = recording.map(|(recording, one)| {
            let connector = self.connector.as_ref();
            let served = Served {
                program: PROGRAM.to_owned(),
                model: connector.map(|it| it.model_name(&self.model)),
                capabilities: self.capabilities,
                gates: self.gates.clone(),
                catalog: (*self.catalog).clone(),
                policies: (*self.policies).clone(),
            };
            Arc::new(Recorder::new(recording, one, served))
        });
        self
    }
}

/// The recorder of one session's connection.
pub(super) struct OfSession {
    recorder: Arc<Recorder>,
    session: SessionId,
    clock: Arc<dyn Clock>,
}

impl OfSession {
    /// A frame leaves.
    pub(super) fn sent(&self, frame: &str) {
        let (session, now) = (self.session, self.clock.now());
        self.recorder.step(session, now, sent(frame));
    }
}

impl SessionTask {
    pub(super) fn recorder(&self) -> Option<OfSession> {
        let recorder = self.agent.recorder.clone()?;
        Some(OfSession {
            recorder,
            session: self.id,
            clock: self.clock.clone(),
        })
    }

    pub(super) fn record_step(&self, step: impl FnOnce() -> Step) {
        if let Some(recorder) = &self.agent.recorder {
            recorder.step(self.id, self.clock.now(), step());
        }
    }

    pub(super) fn record_facts(&self, facts: &[Fact]) {
        if let Some(recorder) = &self.agent.recorder {
            recorder.facts(self.id, facts);
        }
    }

    /// Why there is no connection, as a step: what the agent redacts is not in it.
    pub(super) fn refused(&self, code: Option<u16>, reason: &str) -> Refused {
        let redactor = self.agent.hooks.redactor.as_ref();
        let redacted = redactor.and_then(|it| it.of(reason));
        let reason = redacted.unwrap_or_else(|| reason.to_owned());
        Refused { code, reason }
    }

    /// A frame of the service is dealt with.
    pub(super) fn record_frame(&self, text: &str) {
        self.record_step(|| received(text, self.agent.hooks.redactor.as_ref()));
    }
}

/// A frame as it leaves. It holds nothing that was not on record before, so it was redacted with that.
pub(super) fn sent(frame: &str) -> Step {
    Step::FrameOut(Json::parse(frame).unwrap_or_else(|_| Json::empty_object()))
}

fn received(text: &str, redactor: Option<&Redactor>) -> Step {
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
