//! The session's part in recording a fixture.

use crate::engine::agents::fixture::recorded::{SessionRecorder, received};
use crate::engine::task::session_task::SessionTask;
use crate::fixture::{Refused, Step};
use crate::live::ConnectionLost;
use crate::session::Fact;

impl SessionTask {
    pub(in crate::engine) fn recorder(&self) -> Option<SessionRecorder> {
        let recorder = self.agent.recorder.clone()?;
        Some(SessionRecorder {
            recorder,
            session: self.id,
            clock: self.shared.clock.clone(),
        })
    }

    pub(in crate::engine) fn record_step(&self, step: impl FnOnce() -> Step) {
        if let Some(recorder) = &self.agent.recorder {
            recorder.step(self.id, self.shared.clock.now(), step());
        }
    }

    pub(super) fn record_facts(&self, facts: &[Fact]) {
        if let Some(recorder) = &self.agent.recorder {
            recorder.facts(self.id, facts, &self.stream.session.terms);
        }
    }

    /// Returns the reason for a connection that was not opened, redacted.
    pub(in crate::engine) fn refused(&self, code: Option<u16>, reason: &str) -> Refused {
        let redactor = self.agent.hooks.redactor.as_ref();
        let redacted = redactor.and_then(|it| it.of(reason));
        let reason = redacted.unwrap_or_else(|| reason.to_owned());
        Refused { code, reason }
    }

    /// Returns the reason for a lost connection, as it is recorded.
    pub(in crate::engine) fn recorded_loss(&self, lost: &ConnectionLost) -> Refused {
        let refused = self.refused(lost.code, &lost.reason);
        let words = lost
            .code
            .and_then(|_| self.agent.hooks.recorded_words(&lost.reason));
        Refused {
            reason: words.unwrap_or(refused.reason),
            ..refused
        }
    }

    /// Records a frame of the service as handled.
    pub(in crate::engine) fn record_frame(&self, text: &str) {
        self.record_step(|| received(text, &self.agent.hooks));
    }
}
