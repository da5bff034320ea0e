//! The recording of an agent's sessions as fixtures.

use std::sync::Arc;

use super::agent::Agent;
use super::prepared::Prepared;
use crate::engine::program::PROGRAM;
use crate::fixture::{Recorder, Recording, Served};

impl Agent {
    /// Records every new session as a fixture, in a directory named by the session's id.
    ///
    /// A recording is in clear, so an agent that is [`sealed`](Agent::sealed) cannot be recorded.
    /// Arguments that a tool declares secret are removed. So is what the agent
    /// [redacts](Agent::redact) and what the [`Recording`] names. A write error ends the recording,
    /// not the session, and is logged.
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

    /// Returns the reasons why the agent cannot be recorded.
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

impl Prepared {
    /// Returns the agent with the recorder of its sessions.
    pub(in crate::engine) fn recorded(mut self, recording: Option<(Recording, bool)>) -> Prepared {
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
