//! The record of a text agent's run: its requests to a model, its calls and its end.

use tokio::sync::oneshot;

use crate::engine::connection::message_limit;
use crate::engine::error::Error;
use crate::engine::inputs::inbox::{Asks, Calls};
use crate::engine::task::session_task::SessionTask;
use crate::engine::telling::outcomes::Ended;
use crate::session::{
    Author, Call, FunctionCallReceived, LlmReplied, MalformedArgs, Observation, Rejection, Seq,
    StateChanged, fits, fits_state,
};
use crate::tool::LlmSaid;

impl SessionTask {
    /// Records that an agent is about to call its model, and only then lets it.
    pub(in crate::engine) async fn agent_asks(
        &mut self,
        asks: Asks,
        recorded: oneshot::Sender<()>,
    ) -> Result<(), Error> {
        let (call, attempt) = (asks.asked.call, asks.asked.attempt);
        let fitting = self.asked_on_record(asks);
        match fitting {
            Ok(observations) => {
                self.record(observations).await?;
                if self.runs(call, attempt) {
                    // The run may have been stopped meanwhile.
                    let _ = recorded.send(());
                }
                Ok(())
            }
            Err(rejection) => {
                let ended = self.unfit(call, attempt, &rejection);
                self.record(ended).await
            }
        }
    }

    fn asked_on_record(&self, asks: Asks) -> Result<Vec<Observation>, Rejection> {
        let (call, attempt) = (asks.asked.call, asks.asked.attempt);
        let mut observations = Vec::new();
        if let Some(replied) = asks.replied {
            observations.push(fits(replied.into())?);
        }
        let changes = asks.state.take_changes();
        let changes = changes.map_err(|problem| Rejection::UnfitState { problem })?;
        if !changes.is_empty() && self.runs(call, attempt) {
            let author = Author::Tool { call, attempt };
            let changed = StateChanged { changes, author };
            observations.push(fits_state(&self.stream.session, changed)?);
        }
        observations.push(fits(asks.asked.into())?);
        Ok(observations)
    }

    /// Records a reply together with its calls in one batch, as a frame of the conversation is.
    pub(in crate::engine) async fn agent_calls(&mut self, it: Calls) -> Result<(), Error> {
        let (call, attempt) = (it.replied.call, it.replied.attempt);
        let mut observations = vec![it.replied.into()];
        // The reply of a run that is over is recorded for its cost, and its calls are dropped.
        if self.runs(call, attempt) {
            let calls = it.calls.into_iter();
            observations.extend(calls.filter_map(|said| self.called_by(call, said)));
            let max = self.stream.session.terms.policies.calls_per_message_max;
            message_limit::mark(max, &mut observations);
        }
        self.seal_secrets(&mut observations).await?;
        let fitting: Result<Vec<_>, Rejection> = observations.into_iter().map(fits).collect();
        let observations =
            fitting.unwrap_or_else(|rejection| self.unfit(call, attempt, &rejection));
        self.record(observations).await
    }

    fn called_by(&self, parent: Seq, said: LlmSaid) -> Option<Observation> {
        let LlmSaid::Call { id, name, args, .. } = said else {
            return None;
        };
        let malformed = (!args.is_object()).then(|| MalformedArgs {
            text: args.as_str().to_owned(),
            problem: "expected a JSON object of arguments".to_owned(),
        });
        let dispatcher = &self.agent.dispatcher;
        let check = || dispatcher.check_text(&name, &args, &[]).err();
        let received = FunctionCallReceived {
            epoch: Seq(0),
            id,
            invalid_args: malformed.is_none().then(check).flatten(),
            args: malformed.is_none().then_some(args),
            malformed_args: malformed,
            sealed_args: Vec::new(),
            original_args: None,
            name: Some(name),
            by: None,
            parent: Some(parent),
            beyond_max: None,
            key: None,
        };
        Some(received.into())
    }

    /// Records the end of a run and the reply that caused it.
    pub(in crate::engine) async fn agent_ended(
        &mut self,
        replied: Option<LlmReplied>,
        ended: Ended,
    ) -> Result<(), Error> {
        let (call, attempt) = (ended.call, ended.attempt);
        let ended = self.tool_ended(ended);
        let observations = match replied.map(|it| fits(it.into())) {
            Some(Ok(replied)) => [replied].into_iter().chain(ended).collect(),
            Some(Err(rejection)) => self.unfit(call, attempt, &rejection),
            None => ended,
        };
        self.record(observations).await
    }

    fn runs(&self, call: Seq, attempt: u32) -> bool {
        let runs = |it: &Call| it.runs() && it.attempts == attempt;
        self.running.attached.is_some() && self.stream.session.calls.get(&call).is_some_and(runs)
    }
}
