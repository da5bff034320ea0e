//! The start of each kind of effect, after the batch that makes it owed is durable.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use crate::engine::connection::writer::Carried;
use crate::engine::effects::performer::InFlight;
use crate::engine::effects::start_guard::StartGuard;
use crate::engine::error::Error;
use crate::engine::inputs::inbox::Input;
use crate::engine::task::parts::Stream;
use crate::engine::task::session_task::SessionTask;
use crate::engine::telling::recorded_response::response_in;
use crate::ledger::{HintBy, PendingConfirmation};
use crate::live::{Told, outgoing};
use crate::session::{
    Deadline, Decision, Delivery, Effect, Event, FunctionResponseScheduling, Hook, Json, Outcome,
    Route, Seq, Wording, owed_about, response,
};
use crate::tool::{ConfirmationRequest, answered_by};

impl SessionTask {
    pub(in crate::engine) async fn begin_effect(&mut self, effect: Effect) -> Result<(), Error> {
        // The batch may have been recorded long ago, if this process was stopped since.
        self.stream.ledger.check_lease()?;
        let in_flight = match &effect {
            // Its start took so long to be recorded that its time is up: the timer says so at once.
            Effect::RunTool { call, runner, .. }
                if self.running.attached == Some(*runner) && self.is_overdue(*call) =>
            {
                InFlight::Overdue
            }
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
            // Calls are passed to their hook together; effects of another runner belong to that
            // process.
            Effect::AskHook { .. } => InFlight::Left,
            // It belongs to another process, and this one must not run it.
            Effect::RunTool { .. } => InFlight::Left,
            Effect::AskConfirmation { call, request } => {
                Box::pin(self.ask_provider(*call, *request)).await?
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
                // It is not tracked here: the next process, or the next connection, owes another
                // attempt.
                let _ = self.own.send(Input::ConnectToDeliver);
                InFlight::Left
            }
            Effect::CloseSession { .. } => {
                let _ = self.own.send(Input::CloseIfRequested);
                InFlight::Left
            }
            Effect::ArmTimer { .. } => InFlight::Timed,
        };
        self.running.performer.begun(effect, in_flight);
        Ok(())
    }

    /// True if the time for a run of a call is over, and that is not recorded yet.
    fn is_overdue(&self, call: Seq) -> bool {
        let now = self.shared.clock.now();
        let owed = owed_about(&self.stream.session, &[call], &[]);
        let is_over = |effect: &Effect| {
            matches!(
                effect,
                Effect::ArmTimer { deadline: Deadline::Run { .. }, due_us } if *due_us <= now
            )
        };
        owed.iter().any(is_over)
    }

    /// Returns the check that comes right before an effect of this session.
    pub(in crate::engine) fn start_guard(&self) -> StartGuard {
        StartGuard::new(self.stream.ledger.clone(), self.own.clone())
    }

    /// Asks the confirmation provider of this process, if there is one. Other channels read the
    /// open request from the journal.
    async fn ask_provider(&self, seq: Seq, request: Seq) -> Result<InFlight, Error> {
        let Some(provider) = self.agent.provider.clone() else {
            return Ok(InFlight::Left);
        };
        // The provider gets the same request as the other channels.
        let Some(waiting) = self.stream.ledger.waiting(self.id, seq, request).await? else {
            return Ok(InFlight::Left);
        };
        let Some(question) = asked_of_provider(waiting) else {
            return Ok(InFlight::Left);
        };
        let (own, guard, session) = (self.own.clone(), self.start_guard(), self.id);
        Ok(InFlight::begin(CancellationToken::new(), async move {
            // The call is inside a block, because a provider may panic before it returns its
            // future.
            if !guard.may_begin() {
                return;
            }
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
                // The request stays open for the other channels.
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
        let told = Told {
            call: delivery.call,
            tool: delivery.name.clone(),
            id: delivery.wire_id.clone(),
            as_conversation,
            is_interim: delivery.outcome == Outcome::Interim,
        };
        if as_conversation {
            let words = Box::pin(self.told_as_conversation(delivery, &body)).await?;
            self.send_as_conversation(epoch, words, Some(carried), Some(told));
            return Ok(());
        }
        let frame = outgoing::tool_response(delivery, &body, self.agent.capabilities);
        if let Some(socket) = self
            .connections
            .socket
            .as_ref()
            .filter(|socket| socket.epoch == epoch)
        {
            socket.respond(frame, carried, told);
        }
        Ok(())
    }

    /// Sends the instruction of the current phase to the model.
    fn send_instruction(&mut self, phase: Seq, epoch: Seq) {
        if let Some(instruction) = self.instruction() {
            let words = outgoing::instruction(&instruction, self.agent.capabilities);
            self.send_as_conversation(epoch, words, Some(Carried::Instruction(phase)), None);
        }
    }

    /// Returns the system instruction: the agent's, and that of the current phase.
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
        // An interim result of a call that has ended needs no reaction: the outcome follows and may
        // ask for an answer.
        let is_over = !self.stream.session.calls.contains_key(&delivery.call);
        let scheduling = if delivery.outcome == Outcome::Interim && is_over {
            Some(FunctionResponseScheduling::Silent)
        } else {
            delivery.scheduling
        };
        Ok(outgoing::told(&text, scheduling, self.agent.capabilities))
    }
}

impl Stream {
    /// True if a response that is still to be delivered now has another route.
    pub(in crate::engine) fn is_rerouted(&self, response: Seq, by: Route) -> bool {
        let delivery = self.session.deliveries.get(&response);
        delivery.is_some_and(|it| it.route != by)
    }

    /// Returns the response that a hook substituted.
    pub(in crate::engine) async fn answered_by_hook(
        &self,
        answer: Seq,
    ) -> Result<Option<Json>, Error> {
        let recorded = self.recorded(answer).await?;
        Ok(recorded.and_then(|it| response_in(&it.fact)))
    }

    /// Returns the body of a response, from its own record or from the record it refers to.
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

/// Returns a request as a provider receives it. None for a sealed session without its key, which no
/// process serves.
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
        // A provider that answers in time decides, whatever the term is.
        on_expiry: _,
        model_lost_interest,
        // A provider is a program, and only a person can allow later calls.
        may_allow_for_session: _,
        needs,
        approvals: _,
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
    asked.needs = needs;
    Some(asked)
}
