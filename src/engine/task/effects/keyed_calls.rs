//! Repeated calls of the embedding program, by their idempotency keys.

use serde_json::Value;

use crate::engine::error::Error;
use crate::engine::inputs::callers::{Answer, Caller, result_of};
use crate::engine::task::parts::Stream;
use crate::engine::task::session_task::SessionTask;
use crate::session::{
    Decision, Event, Finding, Observation, Outcome, Rejection, Seq, earlier_call,
};
use crate::tool::ToolError;

/// The number of records in one read.
const PAGE: usize = 1024;

impl SessionTask {
    /// Returns the earlier call of which this one is a repeat, by its key.
    ///
    /// Both are compared as recorded: with sealed secrets, and redacted.
    pub(super) fn earlier_call(&self, received: &Observation) -> Result<Option<Seq>, Rejection> {
        let mut shown = received.clone();
        if let Some(redactor) = &self.agent.hooks.redactor {
            redactor.redact(&mut shown);
        }
        let Observation::FunctionCallReceived(it) = &shown else {
            return Ok(None);
        };
        earlier_call(&self.stream.session, it)
    }

    /// Lets a further caller wait for the outcome of a call. Answers at once if the call has ended.
    pub(super) async fn joined(
        &mut self,
        call: Seq,
        is_stream: bool,
        answer: Answer,
    ) -> Result<Option<Caller>, Error> {
        let given = if is_stream {
            Some(self.stream.yielded(call).await?)
        } else {
            None
        };
        let caller = Caller { answer, given };
        if self.stream.session.calls.contains_key(&call) {
            return Ok(Some(caller));
        }
        let outcome = self.stream.outcome_of(call).await?;
        caller.answer(outcome);
        Ok(None)
    }
}

impl Stream {
    /// Reads the outcome of an ended call. An unknown outcome that was found later is the finding.
    async fn outcome_of(&self, call: Seq) -> Result<Result<Value, ToolError>, Error> {
        let found = self.session.reconciled.get(&call).map(|it| it.at);
        let ended = self.session.settled.get(&call).map(|it| it.at);
        let Some(at) = found.or(ended) else {
            let unknown = Rejection::UnknownCall { call };
            return Ok(Err(ToolError::Other(unknown.to_string())));
        };
        let Some(recorded) = self.recorded(at).await? else {
            return Ok(Err(ToolError::Other(format!("record {at} is missing"))));
        };
        Ok(match &recorded.fact.event {
            Event::Observed(Observation::OutcomeFound(it)) => match &it.found {
                Finding::Done(result) => Ok(result.to_value()),
                Finding::Failed(reason) => Err(ToolError::ExecutionFailed(reason.clone())),
            },
            Event::Decided(Decision::CallCancelled(it)) => {
                Err(ToolError::Cancelled(it.reason.in_words().to_owned()))
            }
            Event::Decided(Decision::ResponseIssued(it)) => {
                let body = self.response_body(at).await?;
                result_of(it.outcome, body.map(|it| it.to_value()).unwrap_or_default())
            }
            Event::Observed(_) | Event::Decided(_) => {
                let body = self.response_body(at).await?;
                result_of(
                    Outcome::Unknown,
                    body.map(|it| it.to_value()).unwrap_or_default(),
                )
            }
        })
    }

    /// Reads the results that the last run of a call has yielded.
    async fn yielded(&self, call: Seq) -> Result<Vec<Value>, Error> {
        let (mut given, mut next) = (Vec::new(), call);
        loop {
            let facts = self.ledger.facts(self.session.id, next, PAGE).await?;
            let Some(last) = facts.last() else {
                return Ok(given);
            };
            next = last.seq.next();
            for fact in &facts {
                match &fact.event {
                    Event::Observed(Observation::ToolYielded(it)) if it.call == call => {
                        given.push(it.response.to_value());
                    }
                    Event::Decided(Decision::CallStarted(it)) if it.call == call => given.clear(),
                    Event::Observed(_) | Event::Decided(_) => {}
                }
            }
        }
    }
}
