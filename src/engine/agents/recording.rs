//! The recording of an agent's sessions as fixtures.

use std::sync::Arc;

use super::agent::Agent;
use super::prepared::Prepared;
use crate::engine::program::PROGRAM;
use crate::fixture::{Recorder, Recording, Served};

impl Agent {
    /// Records every session that begins, each as a fixture in a directory of its own below this
    /// one, by the session's id.
    ///
    /// What is recorded is in clear, so an agent that is [`sealed`](Agent::sealed) is not.
    /// Arguments that a tool declares secret are taken out, and so is what the agent
    /// [redacts](Agent::redact) and what the [`Recording`] names. What cannot be written ends the
    /// recording, not the session; the log of the machinery says so.
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

impl Prepared {
    /// The agent with whoever writes its sessions down.
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
