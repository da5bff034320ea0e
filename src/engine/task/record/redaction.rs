//! Redaction by the agent's closure, before a batch is appended.

use crate::engine::task::session_task::SessionTask;
use crate::session::{Command, Observation, Rejection};

impl SessionTask {
    /// Takes out of a second result of a call what is not in the first one, which is on record: the
    /// same result again is no other.
    pub(in crate::engine) fn redact_repeat(&self, command: &mut Command) {
        if let Command::SupplyResponse { call, response, .. } = command
            && self.stream.session.supplied.contains_key(call)
            && let Some(redactor) = &self.agent.hooks.redactor
        {
            redactor.json(response);
        }
    }

    /// The observation of a command, unless the redactor makes it unfit for the record.
    pub(in crate::engine) fn fits_redacted(
        &self,
        observation: Observation,
    ) -> Result<Observation, Rejection> {
        let redactor = self.agent.hooks.redactor.as_ref();
        match redactor.and_then(|it| it.unfit(&observation)) {
            Some(rejection) => Err(rejection),
            None => Ok(observation),
        }
    }
}
