//! Calls made by the embedding program, from the call to its outcome.

use serde_json::Value;

use crate::engine::error::Error;
use crate::engine::inputs::callers::{Answer, Caller, result_of};
use crate::engine::task::session_task::SessionTask;
use crate::session::{
    Actor, Decision, Event, Fact, FunctionCallReceived, Json, Observation, Outcome, Rejection,
    Route, Seq, fits,
};
use crate::tool::ToolError;

/// The key of a caller whose call is not recorded yet. No record has this number.
const NOT_ON_RECORD: Seq = Seq(0);

impl SessionTask {
    /// Records a call of the embedding program. `caller` receives its outcome.
    pub(in crate::engine) async fn call_function(
        &mut self,
        name: String,
        args: Json,
        by: Actor,
        caller: Answer,
    ) -> Result<(), Error> {
        if self.stream.session.closed {
            let closed = ToolError::Cancelled(Rejection::SessionClosed.to_string());
            let _ = caller.send(Err(closed));
            return Ok(());
        }
        if self.shared.slots.is_shut() {
            let told = Error::ShutDown.to_string();
            let _ = caller.send(Err(ToolError::Cancelled(told)));
            return Ok(());
        }
        if self.running.attached.is_none() {
            self.attach(Vec::new()).await?;
        }
        let in_text = args.object_in_text();
        let original_args = in_text.as_ref().map(|_| args.clone());
        let args = in_text.unwrap_or(args);
        let given = self.is_stream(&name).then(Vec::new);
        let dispatcher = &self.agent.dispatcher;
        let checked = dispatcher.check_text(&name, &args, &[]);
        let received = FunctionCallReceived {
            epoch: Seq(0),
            id: None,
            name: Some(name),
            args: Some(args),
            malformed_args: None,
            invalid_args: checked.err(),
            sealed_args: Vec::new(),
            original_args,
            by: Some(by),
            parent: None,
            beyond_max: None,
        };
        let mut received = [received.into()];
        self.seal_secrets(&mut received).await?;
        let [received] = received;
        match fits(received) {
            Ok(received) => {
                // The batch that receives the call may already answer it.
                let answer = caller;
                let caller = Caller { answer, given };
                self.running.callers.insert(NOT_ON_RECORD, caller);
                self.record(vec![received]).await
            }
            Err(rejection) => {
                let _ = caller.send(Err(ToolError::InvalidArgs(rejection.to_string())));
                Ok(())
            }
        }
    }

    /// Sends decided outcomes to the callers of program calls. Returns the records of the outcomes
    /// that a caller accepted.
    pub(in crate::engine) async fn answer_callers(
        &mut self,
        facts: &[Fact],
    ) -> Result<Vec<Seq>, Error> {
        let mut taken = Vec::new();
        for fact in facts {
            let (call, answer) = match &fact.event {
                Event::Observed(Observation::FunctionCallReceived(it)) if it.by.is_some() => {
                    if let Some(caller) = self.running.callers.remove(&NOT_ON_RECORD) {
                        self.running.callers.insert(fact.seq, caller);
                    }
                    continue;
                }
                Event::Observed(Observation::ToolYielded(it)) => {
                    let caller = self.running.callers.get_mut(&it.call);
                    if let Some(given) = caller.and_then(|caller| caller.given.as_mut()) {
                        given.push(it.response.to_value());
                    }
                    continue;
                }
                // A restarted run yields its results again.
                Event::Decided(Decision::CallStarted(it)) => {
                    let caller = self.running.callers.get_mut(&it.call);
                    let given = caller.and_then(|caller| caller.given.as_mut());
                    given.into_iter().for_each(Vec::clear);
                    continue;
                }
                Event::Decided(Decision::ResponseIssued(it)) if it.route == Route::Caller => {
                    if it.outcome == Outcome::Interim {
                        continue;
                    }
                    let body = self.stream.response_body(fact.seq).await?;
                    let body = body.map(|body| body.to_value()).unwrap_or_default();
                    (it.call, result_of(it.outcome, body))
                }
                Event::Decided(Decision::CallCancelled(it)) => {
                    let told = it.reason.in_words().to_owned();
                    (it.call, Err(ToolError::Cancelled(told)))
                }
                Event::Decided(_) | Event::Observed(_) => continue,
            };
            if let Some(caller) = self.running.callers.remove(&call) {
                // The caller may be gone.
                let sent = caller.answer.send(match (answer, caller.given) {
                    (Ok(_), Some(given)) => Ok(Value::Array(given)),
                    (answer, _) => answer,
                });
                taken.extend(sent.is_ok().then_some(fact.seq));
            }
        }
        Ok(taken)
    }
}
