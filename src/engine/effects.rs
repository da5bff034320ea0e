//! How each effect is begun, once it is on record that it is owed.

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument;

use super::confirmation::ConfirmationRequest;
use super::error::Error;
use super::inbox::Input;
use super::performer::InFlight;
use super::task::SessionTask;
use crate::live::setup;
use crate::session::{
    Decision, Delivery, Effect, Event, Fact, Json, Observation, Outcome, ResponseIssued, Seq,
    response,
};
use crate::tool::{RegisteredTool, ToolContext, ToolError, ToolOutcome};

impl SessionTask {
    pub(super) async fn begin_effect(&mut self, effect: Effect) -> Result<(), Error> {
        let in_flight = match &effect {
            Effect::RunTool {
                call,
                attempt,
                runner,
            } if self.attached == Some(*runner) => self.run_tool(*call, *attempt),
            // Another process owes it; this one must not run it.
            Effect::RunTool { .. } => InFlight::Left,
            Effect::AskConfirmation { call, request } => self.ask(*call, *request).await?,
            Effect::SendResponse {
                response,
                epoch,
                as_conversation,
                ..
            } => {
                self.send_response(*response, *epoch, *as_conversation)
                    .await?;
                InFlight::Left
            }
            Effect::ArmTimer { due_us, .. } => {
                let (reached, own) = (self.clock.reached(*due_us), self.own.clone());
                task(CancellationToken::new(), async move {
                    reached.await;
                    let _ = own.send(Input::TimeCame);
                })
            }
        };
        self.performer.begun(effect, in_flight);
        Ok(())
    }

    fn run_tool(&self, seq: Seq, attempt: u32) -> InFlight {
        let Some(call) = self.session.calls.get(&seq) else {
            return InFlight::Left;
        };
        let cancelled = CancellationToken::new();
        let key = self.id.idempotency_key(seq).to_string();
        let context = ToolContext::new(self.id, self.id.call_id(seq), attempt, key)
            .with_cancellation(cancelled.clone());
        let span = tracing::info_span!("call", session = %self.id, call = seq.0, tool = %call.name, attempt);
        let own = self.own.clone();
        let opened = self.opened_arguments(call);
        let dispatcher = &self.agent.dispatcher;
        // The tool may have been declared anew since the call was received, with another schema.
        let checked = opened.and_then(|args| {
            let not_found = || ToolError::NotFound(call.name.clone());
            let tool = dispatcher.get(&call.name).ok_or_else(not_found)?;
            let value = args.to_value();
            dispatcher
                .check_opened(&call.name, &value, &call.sealed_args)
                .map_err(ToolError::InvalidArgs)?;
            let secret = [dispatcher.secret_arguments(&call.name), &call.sealed_args].concat();
            let context = context.with_args(args).with_secret(secret);
            Ok((tool.clone(), value, context))
        });
        let run = async move {
            let outcome = match checked {
                Ok((tool, args, context)) => contained(tool, args, context).await,
                Err(error) => ToolOutcome::Failed(error),
            };
            let _ = own.send(Input::ToolEnded {
                call: seq,
                attempt,
                outcome,
            });
        };
        task(cancelled, run.instrument(span))
    }

    /// Asks the provider of this process, if there is one; the other doors need no asking.
    async fn ask(&self, seq: Seq, request: Seq) -> Result<InFlight, Error> {
        let (Some(provider), Some(call)) =
            (self.agent.provider.clone(), self.session.calls.get(&seq))
        else {
            return Ok(InFlight::Left);
        };
        let asked = self.ledger.fact(self.id, request).await?;
        let message = match asked.map(|fact| fact.event) {
            Some(Event::Decided(decision)) => decision.question().and_then(|it| it.hint.clone()),
            Some(Event::Observed(_)) | None => None,
        };
        let question = ConfirmationRequest {
            id: self.id.request_id(request),
            session: self.id,
            tool_name: call.name.clone(),
            args: call.args.to_value(),
            args_text: call.args.clone(),
            message,
        };
        let own = self.own.clone();
        Ok(task(CancellationToken::new(), async move {
            let confirmation = provider.confirm(question).await;
            let _ = own.send(Input::ProviderAnswered {
                request,
                confirmation,
            });
        }))
    }

    async fn send_response(
        &self,
        seq: Seq,
        epoch: Seq,
        as_conversation: bool,
    ) -> Result<(), Error> {
        let Some(delivery) = self.session.deliveries.get(&seq) else {
            return Ok(());
        };
        let Some(body) = self.response_body(seq).await? else {
            return Ok(());
        };
        let frame = if as_conversation {
            self.told_as_conversation(delivery, &body).await?
        } else {
            let goes_on = delivery.outcome == Outcome::Interim;
            setup::tool_response(delivery.wire_id.as_deref(), &delivery.name, &body, goes_on)
        };
        if let Some(socket) = self.socket.as_ref().filter(|socket| socket.epoch == epoch) {
            socket.send(frame, Some(seq));
        }
        Ok(())
    }

    async fn told_as_conversation(
        &self,
        delivery: &Delivery,
        body: &Json,
    ) -> Result<String, Error> {
        let received = self.ledger.call_received(self.id, delivery.call).await?;
        let args = received
            .and_then(|it| it.args)
            .unwrap_or_else(Json::empty_object);
        let text = response::as_conversation(&delivery.name, &args, delivery.outcome, body);
        Ok(setup::user_text(&text))
    }

    /// The response itself: in its own record, or in the one that this refers to.
    async fn response_body(&self, issued: Seq) -> Result<Option<Json>, Error> {
        let Some(Fact {
            event: Event::Decided(Decision::ResponseIssued(ResponseIssued { of, response, .. })),
            ..
        }) = self.ledger.fact(self.id, issued).await?
        else {
            return Ok(None);
        };
        let (None, Some(of)) = (&response, of) else {
            return Ok(response);
        };
        let Some(Fact {
            event: Event::Observed(observation),
            ..
        }) = self.ledger.fact(self.id, of).await?
        else {
            return Ok(None);
        };
        Ok(response_in(observation))
    }
}

/// Runs a tool in a task of its own, so that a panic which its own containment misses still ends the call.
async fn contained(tool: RegisteredTool, args: Value, context: ToolContext) -> ToolOutcome {
    let run = async move { tool.run(args, context).await };
    let run = AbortOnDropHandle::new(tokio::spawn(run.in_current_span()));
    run.await.unwrap_or_else(|_| {
        ToolOutcome::Failed(ToolError::ExecutionFailed("the tool panicked".to_owned()))
    })
}

/// The response that an observation holds.
fn response_in(observation: Observation) -> Option<Json> {
    if let Observation::ToolReturned(it) = observation {
        Some(it.response)
    } else if let Observation::ResponseSupplied(it) = observation {
        Some(it.response)
    } else if let Observation::ToolPaused(it) = observation {
        it.interim
    } else {
        None
    }
}

fn task(cancelled: CancellationToken, work: impl Future<Output = ()> + Send + 'static) -> InFlight {
    let task = tokio::spawn(work).abort_handle();
    InFlight::Task { task, cancelled }
}
