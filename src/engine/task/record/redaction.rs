//! Redaction by the agent's closure, before a batch is appended.

use crate::engine::task::session_task::SessionTask;
use crate::session::{Command, Observation, Rejection};

impl SessionTask {
    /// Redacts a repeated result as the recorded one was. Otherwise the same result would look like
    /// another.
    pub(in crate::engine) fn redact_repeat(&self, command: &mut Command) {
        if let Command::SupplyResponse { call, response, .. } = command
            && self.stream.session.supplied.contains_key(call)
            && let Some(redactor) = &self.agent.hooks.redactor
        {
            redactor.json(response);
        }
    }

    /// Returns the observation of a command, unless the redactor makes it unfit for a record.
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
