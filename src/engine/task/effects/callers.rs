//! Calls made by the embedding program, from the call to its outcome.

use serde_json::Value;
use tokio::sync::oneshot;

use crate::engine::error::Error;
use crate::engine::inputs::callers::{Answer, Caller, ProgramCall, Taken, result_of};
use crate::engine::task::session_task::SessionTask;
use crate::ledger::Objects;
use crate::session::{
    Actor, Decision, Event, Fact, FunctionCallReceived, Json, Observation, Outcome, Rejection,
    Route, Seq, fits,
};
use crate::tool::ToolError;

/// The key of a caller whose call is not recorded yet. No record has this number.
const NOT_ON_RECORD: Seq = Seq(0);

impl SessionTask {
    /// Records a call of the embedding program. `caller` receives its outcome.
    ///
    /// A call with the key of an earlier one is not recorded: its caller receives the outcome of
    /// that one.
    pub(in crate::engine) async fn call_function(
        &mut self,
        call: ProgramCall,
        caller: Answer,
    ) -> Result<(), Error> {
        let ProgramCall {
            name,
            args,
            by,
            key,
        } = call;
        let (key, taken) = key.map(|it| (it.key, it.taken)).unzip();
        let is_stream = self.is_stream(&name);
        let received = self.received(name, args, by, key);
        let mut received = [received.into()];
        self.seal_secrets(&mut received).await?;
        let [received] = received;
        let refused = match self.earlier_call(&received) {
            Ok(Some(call)) => {
                let caller = self.joined(call, is_stream, caller).await?;
                let repeated = true;
                taken.map(|it| it.send(Ok(Taken { call, repeated })));
                if let Some(caller) = caller {
                    self.running.callers.entry(call).or_default().push(caller);
                }
                return Ok(());
            }
            Ok(None) if self.stream.session.closed => Err(Error::Refused(Rejection::SessionClosed)),
            Ok(None) if self.shared.slots.is_shut() => Err(Error::ShutDown),
            Ok(None) => fits(received).map_err(Error::Refused),
            Err(rejection) => Err(Error::Refused(rejection)),
        };
        let received = match refused {
            Ok(received) => received,
            Err(error) => {
                refuse(error, taken, caller);
                return Ok(());
            }
        };
        if self.running.attached.is_none() {
            self.attach(Vec::new()).await?;
        }
        let (mut batch, mut objects) = (Vec::with_capacity(2), Objects::default());
        if taken.is_some()
            && let Some((renewed, terms)) = self.rules_for_keys()?
        {
            batch.push(renewed.into());
            objects = terms;
        }
        batch.push(received);
        // The batch that receives the call may already answer it.
        let given = is_stream.then(Vec::new);
        let answer = caller;
        let caller = vec![Caller { answer, given }];
        self.running.callers.insert(NOT_ON_RECORD, caller);
        self.stream.requested = self.requested.take();
        let call = self.put(batch, objects).await?;
        let repeated = false;
        taken.map(|it| it.send(Ok(Taken { call, repeated })));
        self.perform().await
    }

    /// Returns the observation of a call, with its arguments in clear.
    fn received(
        &self,
        name: String,
        args: Json,
        by: Actor,
        key: Option<String>,
    ) -> FunctionCallReceived {
        let in_text = args.object_in_text();
        let original_args = in_text.as_ref().map(|_| args.clone());
        let args = in_text.unwrap_or(args);
        let checked = self.agent.dispatcher.check_text(&name, &args, &[]);
        FunctionCallReceived {
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
            key,
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
                    for given in self.given_to_callers_of(it.call) {
                        given.push(it.response.to_value());
                    }
                    continue;
                }
                // A restarted run yields its results again.
                Event::Decided(Decision::CallStarted(it)) => {
                    self.given_to_callers_of(it.call).for_each(Vec::clear);
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
            let callers = self.running.callers.remove(&call).unwrap_or_default();
            for caller in callers {
                taken.extend(caller.answer(answer.clone()).then_some(fact.seq));
            }
        }
        Ok(taken)
    }

    fn given_to_callers_of(&mut self, call: Seq) -> impl Iterator<Item = &mut Vec<Value>> {
        let callers = self.running.callers.get_mut(&call).into_iter().flatten();
        callers.filter_map(|it| it.given.as_mut())
    }
}

/// Sends the caller the reason why its call is not recorded.
fn refuse(error: Error, taken: Option<oneshot::Sender<Result<Taken, Error>>>, caller: Answer) {
    let Some(taken) = taken else {
        // A model would get this text.
        let told = match error {
            Error::Refused(Rejection::SessionClosed) | Error::ShutDown => {
                ToolError::Cancelled(error.to_string())
            }
            other => ToolError::InvalidArgs(other.to_string()),
        };
        let _ = caller.send(Err(told));
        return;
    };
    let _ = taken.send(Err(error));
}
