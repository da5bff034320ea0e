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
        // Every yes to one request must have the same payload, so the redacted ones are compared.
        if let Command::AnswerConfirmation {
            request,
            answer: Ok(answer),
            ..
        } = command
            && let Some(asked) = self.stream.session.requests.get(request)
            && asked.asking.as_ref().is_some_and(|it| !it.given.is_empty())
            && let Some(redactor) = &self.agent.hooks.redactor
            && let Some(mut payload) = answer.payload_on_record()
        {
            redactor.json(&mut payload);
            let value = payload.to_value();
            *answer = std::mem::take(answer).with_written_payload(value, payload);
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
