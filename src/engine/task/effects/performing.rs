//! How each effect is begun, once it is on record that it is owed.

use crate::engine::task::parts::Stream;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};

use futures_util::FutureExt;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::engine::admission::answering::with_given;
use crate::engine::connection::writer::Carried;
use crate::engine::effects::beginning::Beginning;
use crate::engine::effects::performer::InFlight;
use crate::engine::effects::run_of_agent::OnRecord;
use crate::engine::effects::session_of_run::SessionOfRun;
use crate::engine::effects::slots::Held;
use crate::engine::effects::text_agents::{Came, Stretch};
use crate::engine::effects::yields::{on_record, recorded};
use crate::engine::error::Error;
use crate::engine::inputs::inbox::Input;
use crate::engine::task::record::implementations::as_approved;
use crate::engine::task::session_task::SessionTask;
use crate::engine::telling::recorded_response::response_in;
use crate::ledger::{HintBy, PendingConfirmation};
use crate::live::setup;
use crate::session::{
    Decision, Delivery, Effect, Event, FunctionResponseScheduling, Hook, Json, Outcome, Route, Seq,
    Wording, response,
};
use crate::tool::{
    ConfirmationRequest, EVENTS_WAITING_MAX, Emitter, Identity, PolicyTool, Ticket, ToolContext,
    ToolError, ToolOutcome, answered_by,
};

impl SessionTask {
    pub(in crate::engine) async fn begin_effect(&mut self, effect: Effect) -> Result<(), Error> {
        let in_flight = match &effect {
            Effect::RunTool {
                call,
                attempt,
                runner,
            } if self.running.attached == Some(*runner) => {
                let of_agent = match self.on_record_of_agent(*call) {
                    Some(reading) => Some(reading.await?),
                    None => None,
                };
                self.run_tool(*call, *attempt, of_agent)
            }
            Effect::AskHook {
                hook: Hook::ConfirmWhen,
                call,
                runner,
                ..
            } if self.running.attached == Some(*runner) => self.ask_verdict(*call),
            Effect::AskHook {
                call,
                of: Some(issued),
                runner,
                ..
            } if self.running.attached == Some(*runner) => self.show_issued(*call, *issued).await?,
            // Calls are shown together; what another process owes is its own.
            Effect::AskHook { .. } => InFlight::Left,
            // Another process owes it; this one must not run it.
            Effect::RunTool { .. } => InFlight::Left,
            Effect::AskConfirmation { call, request } => {
                Box::pin(self.ask(*call, *request)).await?
            }
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
            Effect::SendInstruction { phase, epoch } => {
                self.send_instruction(*phase, *epoch);
                InFlight::Left
            }
            Effect::Connect => {
                // It is left to what comes of it: another try is owed by the next process, or after the next connection.
                let _ = self.own.send(Input::ConnectToTell);
                InFlight::Left
            }
            Effect::CloseSession { .. } => {
                let _ = self.own.send(Input::CloseAsAsked);
                InFlight::Left
            }
            Effect::ArmTimer { .. } => InFlight::Timed,
        };
        self.running.performer.begun(effect, in_flight);
        Ok(())
    }

    fn run_tool(&self, seq: Seq, attempt: u32, of_agent: Option<OnRecord>) -> InFlight {
        let Some(call) = self.stream.session.calls.get(&seq) else {
            return InFlight::Left;
        };
        let cancelled = CancellationToken::new();
        let state = self.state();
        let ticket = Ticket {
            session: self.id,
            call: seq,
            tool: call.name.clone(),
        };
        let telling = Arc::new(self.telling(seq, attempt, call));
        let events = Arc::new(SessionOfRun {
            inbox: self.own.clone(),
            ledger: self.stream.ledger.clone(),
            clock: self.shared.clock.clone(),
            room: Arc::new(Semaphore::new(EVENTS_WAITING_MAX)),
            ends_session: OnceLock::new(),
            progress: self.stream.progress_of(call, &telling, &state),
        });
        let (identity, token) = (Identity::Of(seq), cancelled.clone());
        let context = ToolContext::of_run(self.id, attempt, identity, token, state.clone())
            .with_services(self.agent.services.clone())
            .with_input(self.connections.media.input())
            .with_ticket(ticket)
            .with_emitter(Emitter::new(events.clone(), seq, attempt));
        let span = tracing::info_span!("call", session = %self.id, call = seq.0, tool = %call.name, attempt);
        tracing::debug!(session = %self.id, call = seq.0, tool = %call.name, attempt, "tool starts");
        let own = self.own.clone();
        let opened = self.stream.opened_arguments(call);
        let dispatcher = &self.agent.dispatcher;
        // The tool may have been declared anew since the call was received, with another schema.
        let checked = opened.and_then(|args| {
            let not_found = || ToolError::NotFound(call.name.clone());
            let tool = dispatcher.shared(&call.name).ok_or_else(not_found)?;
            let value = dispatcher
                .check_text(&call.name, &args, &call.sealed_args)
                .map_err(ToolError::InvalidArgs)?;
            let secret = [dispatcher.secret_arguments(&call.name), &call.sealed_args].concat();
            let context = context.with_args(args).with_secret(secret);
            Ok((tool, value, context))
        });
        // Once a call: the model knows already that it runs when it is run again.
        let mut acknowledgement =
            (call.background.is_some() && !call.told_meanwhile).then(|| telling.acknowledgement());
        if !telling.is_changed()
            && let Some(response) = acknowledgement.take()
        {
            // It is queued before the tool can end, so the model hears of it first.
            _ = on_record(&own, telling.yielded(response));
        }
        let on_yield = {
            let (own, telling, state) = (own.clone(), telling.clone(), state.clone());
            move |value| recorded(own.clone(), telling.clone(), value, state.clone())
        };
        let stretch = of_agent
            .zip(checked.as_ref().ok())
            .and_then(|(on_record, it)| {
                let (tool, ..) = it;
                let tool = tool.text_agent()?.clone();
                let base = tool.state().clone();
                let stretch = Stretch {
                    tool,
                    on_record,
                    call: seq,
                    attempt,
                    own: own.clone(),
                };
                Some((stretch, base))
            });
        let (slots, session, ledger) = (
            self.shared.slots.clone(),
            self.id,
            self.stream.ledger.clone(),
        );
        let leave = self.stream.leave_given(call);
        let approved = self.stream.approved_implementation(call);
        let beginning = Beginning::default();
        let begins = beginning.clone();
        let place = Held::default();
        let held = place.clone();
        let run = async move {
            if let Some(response) = acknowledgement {
                let seen = state.over();
                let response = Box::pin(telling.changed(response, &seen)).await;
                _ = on_record(&own, telling.yielded(response));
                let _ = own.send(Input::HookWrote(Hook::BeforeToolResponse, seen));
            }
            held.hold(slots.take(session).await);
            if !begins.begin() {
                held.let_go();
                return;
            }
            if let Some((stretch, base)) = stretch {
                let state = state.above(&base);
                let came = Box::pin(stretch.go(&state)).await;
                held.let_go();
                if let Some(Came { replied, outcome }) = came {
                    let ended = Box::pin(telling.ended(outcome, state)).await;
                    let _ = own.send(Input::AgentEnded(replied, ended));
                }
                return;
            }
            let outcome = match Box::pin(as_approved(checked, approved)).await {
                Ok((tool, args, context)) => {
                    let given = match leave {
                        Some(leave) => Box::pin(with_given(context, &ledger, session, leave)).await,
                        None => Ok(context),
                    };
                    match given {
                        Ok(context) => contained(tool, args, context, on_yield).await,
                        Err(error) => ToolOutcome::Failed(ToolError::Other(format!(
                            "the answer on record cannot be read, so the tool did not run: {error}"
                        ))),
                    }
                }
                Err(error) => ToolOutcome::Failed(error),
            };
            held.let_go();
            let ended = telling.ended(outcome, state).await;
            let ended = ended.ending_session(events.ends_session.get());
            let _ = own.send(Input::ToolEnded(ended));
        };
        // In a box, or the runtime moves all of it from place to place, to the end.
        let run = Box::pin(run.instrument(span));
        InFlight::Run {
            task: tokio::spawn(run).abort_handle(),
            cancelled,
            beginning,
            place,
        }
    }

    /// Asks the provider of this process, if there is one; the other doors need no asking.
    async fn ask(&self, seq: Seq, request: Seq) -> Result<InFlight, Error> {
        let Some(provider) = self.agent.provider.clone() else {
            return Ok(InFlight::Left);
        };
        // It is told what the other doors are told.
        let Some(waiting) = self.stream.ledger.waiting(self.id, seq, request).await? else {
            return Ok(InFlight::Left);
        };
        let Some(question) = asked_of_provider(waiting) else {
            return Ok(InFlight::Left);
        };
        let (own, session) = (self.own.clone(), self.id);
        Ok(InFlight::begin(CancellationToken::new(), async move {
            // The call stands inside a block, because a provider may panic before it returns its future.
            let answering = async {
                let confirmation = provider.confirm(question).await;
                (confirmation, answered_by(provider.as_ref()))
            };
            match AssertUnwindSafe(answering).catch_unwind().await {
                Ok((confirmation, by)) => {
                    let _ = own.send(Input::ProviderAnswered {
                        by,
                        request,
                        confirmation,
                    });
                }
                // The question stays open for the other doors.
                Err(_) => tracing::error!(%session, %request, "the confirmation provider panicked"),
            }
        }))
    }

    async fn send_response(
        &mut self,
        seq: Seq,
        epoch: Seq,
        as_conversation: bool,
    ) -> Result<(), Error> {
        let Some(delivery) = self.stream.session.deliveries.get(&seq) else {
            return Ok(());
        };
        let words = match delivery.wording {
            Wording::Hooked(answer) => self.stream.answered_by_hook(answer).await?,
            Wording::AsIssued | Wording::AwaitingHook => self.stream.response_body(seq).await?,
        };
        let Some(body) = words else {
            return Ok(());
        };
        let carried = Carried::Response(seq, delivery.route);
        if as_conversation {
            let words = Box::pin(self.told_as_conversation(delivery, &body)).await?;
            self.put_in(epoch, words, Some(carried));
            return Ok(());
        }
        let frame = setup::tool_response(delivery, &body, self.agent.capabilities);
        if let Some(socket) = self
            .connections
            .socket
            .as_ref()
            .filter(|socket| socket.epoch == epoch)
        {
            socket.send(frame, Some(carried));
        }
        Ok(())
    }

    /// Tells the model the instruction of the phase it is in.
    fn send_instruction(&mut self, phase: Seq, epoch: Seq) {
        if let Some(instruction) = self.instruction() {
            let words = setup::instruction(&instruction, self.agent.capabilities);
            self.put_in(epoch, words, Some(Carried::Instruction(phase)));
        }
    }

    /// What the model is told to be: by the agent, and by the phase of now.
    pub(in crate::engine) fn instruction(&self) -> Option<String> {
        let stay = self.stream.session.phase.as_ref();
        let phase = stay.and_then(|stay| self.stream.session.terms.policies.phase(&stay.phase));
        let of_phase = phase.and_then(|phase| phase.instruction.as_deref());
        let parts: Vec<&str> = [self.agent.instruction.as_deref(), of_phase]
            .into_iter()
            .flatten()
            .collect();
        (!parts.is_empty()).then(|| parts.join("\n\n"))
    }

    async fn told_as_conversation(
        &self,
        delivery: &Delivery,
        body: &Json,
    ) -> Result<String, Error> {
        let args = self.stream.args_that_ran(delivery.call).await?;
        let text = response::as_conversation(&delivery.name, &args, delivery.outcome, body);
        // News of a call that has ended since are no news: its outcome follows, and is what may ask for an answer.
        let is_over = !self.stream.session.calls.contains_key(&delivery.call);
        let scheduling = if delivery.outcome == Outcome::Interim && is_over {
            Some(FunctionResponseScheduling::Silent)
        } else {
            delivery.scheduling
        };
        Ok(setup::told(&text, scheduling, self.agent.capabilities))
    }
}

impl Stream {
    /// Whether a response that is still to be told goes another way by now.
    pub(in crate::engine) fn goes_otherwise(&self, response: Seq, by: Route) -> bool {
        let delivery = self.session.deliveries.get(&response);
        delivery.is_some_and(|it| it.route != by)
    }

    /// What a hook put in the place of a response.
    pub(in crate::engine) async fn answered_by_hook(
        &self,
        answer: Seq,
    ) -> Result<Option<Json>, Error> {
        let recorded = self.recorded(answer).await?;
        Ok(recorded.and_then(|it| response_in(&it.fact)))
    }

    /// The response itself: in its own record, or in the one that this refers to.
    pub(in crate::engine) async fn response_body(
        &self,
        issued: Seq,
    ) -> Result<Option<Json>, Error> {
        let Some(recorded) = self.recorded(issued).await? else {
            return Ok(None);
        };
        let (of, response) = match &recorded.fact.event {
            Event::Decided(Decision::ResponseIssued(it)) => (it.of, &it.response),
            Event::Decided(Decision::OutcomeReconciled(it)) => (Some(it.of), &it.response),
            Event::Decided(_) | Event::Observed(_) => return Ok(None),
        };
        let (None, Some(of)) = (response, of) else {
            return Ok(response.clone());
        };
        let recorded = self.recorded(of).await?;
        Ok(recorded.and_then(|it| response_in(&it.fact)))
    }
}

/// A request as a provider is shown it; none of a sealed session without its key, which nobody serves.
fn asked_of_provider(waiting: PendingConfirmation) -> Option<ConfirmationRequest> {
    let PendingConfirmation {
        id,
        session,
        agent,
        external_id,
        labels,
        on_behalf_of,
        request,
        request_hash,
        call,
        call_hash,
        parent,
        tool,
        args,
        sealed_args,
        sealed: _,
        hint,
        hint_by,
        about,
        payload_schema,
        contract,
        declaration,
        requested_at,
        expires_at,
        model_lost_interest,
    } = waiting;
    let mut asked =
        ConfirmationRequest::blank(id, session, (contract?, declaration?), requested_at);
    asked.agent = agent;
    asked.external_id = external_id;
    asked.labels = labels;
    asked.on_behalf_of = on_behalf_of;
    asked.request = request;
    asked.request_hash = Some(request_hash);
    asked.call = call;
    asked.call_hash = Some(call_hash);
    asked.parent = parent.map(|parent| parent.call);
    asked.tool_name = tool;
    asked.args = args.to_value();
    asked.args_text = args;
    asked.sealed_args = sealed_args;
    asked.message = hint;
    asked.message_by_tool = match hint_by {
        HintBy::Declaration => false,
        HintBy::Tool => true,
    };
    asked.about = about;
    asked.payload_schema = payload_schema;
    asked.expires_at = expires_at;
    asked.model_lost_interest = model_lost_interest;
    Some(asked)
}

/// Runs a tool so that a panic which its own containment misses still ends the call.
async fn contained<F, Fut>(
    tool: Arc<PolicyTool>,
    args: Value,
    context: ToolContext,
    on_yield: F,
) -> ToolOutcome
where
    F: FnMut(Value) -> Fut + Send + 'static,
    Fut: Future<Output = Result<(), ToolError>> + Send,
{
    // What the run leaves is dropped inside of the block, too.
    let run = async move { tool.run(args, context, on_yield).await };
    let ended = AssertUnwindSafe(run).catch_unwind().await;
    ended.unwrap_or_else(|_| {
        ToolOutcome::Failed(ToolError::ExecutionFailed("the tool panicked".to_owned()))
    })
}
