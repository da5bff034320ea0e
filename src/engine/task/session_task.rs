//! The loop of one session: receives, admits, steps, appends, performs.
//!
//! It is the session's only writer. Everything that happens to the session comes through two
//! queues, and is recorded before any effect follows. If the journal fails, the task stops and
//! nothing runs any more.

use std::mem::take;
use std::sync::{Arc, OnceLock};

use tokio::sync::mpsc;
use tokio::task::yield_now;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::draining::Draining;
use super::parts::{Connections, Running, Shared, Stream};
use super::yield_after_sync::YieldAfterSync;
use crate::engine::admission::attempted_answer::AttemptedAnswer;
use crate::engine::agents::prepared::Prepared;
use crate::engine::connection::incoming::Incoming;
use crate::engine::connection::writer::Carried;
use crate::engine::error::Error;
use crate::engine::inputs::inbox::{Inbox, Input, Reply};
use crate::engine::inputs::registry::Failure;
use crate::engine::live_media::input_lines::Place;
use crate::engine::reasons;
use crate::fixture::Step;
use crate::ledger::Objects;
use crate::live::incoming::{self, Heard};
use crate::live::outgoing;
use crate::session::{
    Call, Command, Hook, InstructionSent, Observation, ResponsesSent, Seq, SessionId,
    SessionOpened, UserTextSent, admit_at, fits,
};
use crate::tool::{InputEvent, State};
use recount_journal::causes;

/// The two ways in which a task begins.
pub(in crate::engine) enum Begin {
    /// With a new session.
    Open(SessionOpened),
    /// With the session in the journal.
    Resume,
}

/// The loop of one session.
pub(in crate::engine) struct SessionTask {
    pub(in crate::engine) id: SessionId,
    pub(in crate::engine) agent: Arc<Prepared>,
    pub(in crate::engine) stream: Stream,
    pub(in crate::engine) connections: Connections,
    pub(in crate::engine) running: Running,
    pub(in crate::engine) shared: Shared,
    pub(in crate::engine) failure: Arc<OnceLock<Failure>>,
    /// The request of another process that the input at hand carries out.
    pub(in crate::engine) requested: Option<Uuid>,
    /// The drain in progress, once the engine shuts down.
    pub(in crate::engine) draining: Option<Draining>,
    pub(in crate::engine) handles: usize,
    pub(in crate::engine) yield_after_sync: YieldAfterSync,
    /// Fires once the session is closed, and ends its subscriptions.
    pub(in crate::engine) over: CancellationToken,
    pub(in crate::engine) inbox: mpsc::UnboundedReceiver<Box<Input>>,
    pub(in crate::engine) own: Inbox,
}

impl SessionTask {
    /// Serves the session until it is idle, shut down, or failed.
    ///
    /// Each step is boxed while it runs, so a waiting session reserves no memory for it. The task
    /// itself is boxed because a future reserves memory for each move of an owned value.
    pub(in crate::engine) async fn serve(mut self: Box<Self>, begin: Begin) {
        if let Err(error) = Box::pin(self.begin(begin)).await {
            let failure = Failure::before_any_input(&error);
            return Box::pin(self.fail(failure)).await;
        }
        loop {
            if self.is_idle() {
                match Box::pin(self.retire()).await {
                    Ok(true) => return,
                    Ok(false) => {}
                    Err(error) => return Box::pin(self.fail(Failure::of(&error))).await,
                }
            }
            let outcome = tokio::select! {
                biased;
                Some(input) = self.inbox.recv() => Box::pin(self.handle(input)).await,
                () = yield_now(), if !self.connections.rest.is_empty() => {
                    Box::pin(self.record_rest()).await
                }
                Some(incoming) = self.connections.incoming.recv(),
                    if self.connections.rest.is_empty() =>
                {
                    Box::pin(self.receive(incoming)).await
                }
            };
            if self.is_drained() && outcome.is_ok() {
                return Box::pin(self.shut_down()).await;
            }
            let outcome = match outcome {
                Ok(()) => self.maintain_connection().await,
                Err(error) => Err(error),
            };
            if let Err(error) = outcome {
                return Box::pin(self.fail(Failure::of(&error))).await;
            }
        }
    }

    /// Handles what is due on the connection after each input.
    async fn maintain_connection(&mut self) -> Result<(), Error> {
        self.watch_silence();
        self.connections.note_awaited();
        self.send_waiting_text().await?;
        self.switch_if_idle().await
    }

    async fn begin(&mut self, begin: Begin) -> Result<(), Error> {
        match begin {
            Begin::Open(opened) => {
                self.stream.seal = self.new_seal().await?;
                self.attach(vec![opened.into()]).await
            }
            Begin::Resume => {
                // A desk that began to append before the agent was registered finishes first. None
                // begins after this.
                drop(self.shared.desk_turns.lock().await);
                self.stream.owned = Some(self.stream.ledger.own(self.id).await?);
                let loaded = self.stream.ledger.load(self.id).await?;
                self.stream.folded = loaded.tail.seq;
                (self.stream.session, self.stream.tail, self.stream.seal) =
                    (loaded.session, loaded.tail, loaded.seal);
                self.close_if_requested().await?;
                // A tool that waited for an answer in a dead process must not be asked about again.
                // Attaching withdraws its request.
                let waited = |it: &Call| it.in_place().is_some();
                if !self.stream.session.calls.values().any(waited) {
                    self.record(Vec::new()).await?;
                }
                self.attach_if_needed().await
            }
        }
    }

    async fn handle(&mut self, input: Box<Input>) -> Result<(), Error> {
        match *input {
            Input::Connect(reply) => Box::pin(self.connect(reply)).await,
            Input::Relay(relay, on_record, reply) => {
                let outcome = Box::pin(self.relay(relay, on_record)).await;
                self.hand_back(reply, outcome)
            }
            Input::RelayTools(tools, on_record, reply) => {
                let outcome = Box::pin(self.relay_tools(tools, on_record)).await;
                self.hand_back(reply, outcome)
            }
            Input::ClientSaid(text, reply) => {
                let outcome = Box::pin(self.client_said(text)).await;
                self.hand_back(reply, outcome)
            }
            Input::Opened(opened) => Box::pin(self.opened(opened)).await,
            Input::Disconnect(reply) => {
                let outcome = Box::pin(self.disconnect(reasons::DISCONNECTED)).await;
                self.hand_back(reply, outcome)
            }
            Input::Drain { until, reply } => Box::pin(self.drain(until, reply)).await,
            Input::SilenceDue { number } => Box::pin(self.disconnect_if_silent(number)).await,
            Input::ConnectToDeliver => Box::pin(self.connect_to_deliver()).await,
            Input::ReconnectDue { attempt } => Box::pin(self.reconnect_due(attempt)).await,
            Input::HeldDue => Box::pin(self.held_due()).await,
            Input::SwitchDue { epoch } => Box::pin(self.switch(epoch)).await,
            Input::SendText(words, reply) => Box::pin(self.send_or_queue_text(words, reply)).await,
            Input::Answer {
                request,
                confirmation,
                by,
                reply,
            } => {
                let outcome = Box::pin(self.answer_named(request, confirmation, by)).await;
                self.hand_back(reply, outcome)
            }
            Input::Requested(request, input) => {
                self.requested = Some(request);
                let handled = Box::pin(self.handle(input)).await;
                self.requested = None;
                handled
            }
            Input::Command(command, reply) => {
                let Some((command, reply)) = self.show_supplied(command, reply) else {
                    return Ok(());
                };
                let outcome = Box::pin(self.command(command)).await;
                self.hand_back(reply, outcome)
            }
            Input::ResponseHookDone {
                command,
                state,
                reply,
            } => {
                let written = self
                    .stream
                    .written_by(Hook::BeforeToolResponse.as_str(), &state);
                self.record(written.into_iter().collect()).await?;
                let outcome = Box::pin(self.command(command)).await;
                self.hand_back(reply, outcome)
            }
            Input::HookAnswered {
                answers,
                state,
                response_hook_state,
            } => Box::pin(self.hook_answered(answers, &state, &response_hook_state)).await,
            Input::ObservePauses { cancels, reply } => {
                let outcome = Box::pin(self.observe_pauses(cancels)).await;
                self.hand_back(reply, outcome)
            }
            Input::Session(reply) => {
                let _ = reply.send(self.stream.session.clone());
                Ok(())
            }
            Input::State(reply) => {
                let _ = reply.send(self.state());
                Ok(())
            }
            Input::HandleTaken => {
                self.handles += 1;
                Ok(())
            }
            Input::HandleDropped => Box::pin(self.handle_dropped()).await,
            Input::HandleReturned => {
                self.handle_returned();
                Ok(())
            }
            Input::ToolEnded(ended) => {
                let ended = self.tool_ended(ended);
                self.record(ended).await
            }
            Input::AgentAsks(asks, recorded) => Box::pin(self.agent_asks(asks, recorded)).await,
            Input::AgentCalls(calls) => Box::pin(self.agent_calls(calls)).await,
            Input::AgentEnded(replied, ended) => Box::pin(self.agent_ended(replied, ended)).await,
            Input::ToolYielded(yielded, recorded) => {
                let yielded = self.tool_yielded(yielded);
                self.record(yielded).await?;
                // The tool may continue with its next result.
                let _ = recorded.send(());
                Ok(())
            }
            Input::ToolAsks(asked, tool) => Box::pin(self.tool_asks(asked, tool)).await,
            Input::ToolEmitted(emitted, _permit) => self.tool_emitted(emitted).await,
            Input::CallFunction(call, caller) => Box::pin(self.call_function(call, caller)).await,
            Input::ChangeTools(changes, on_record, reply) => {
                let outcome = Box::pin(self.change_tools(changes, on_record)).await;
                self.hand_back(reply, outcome)
            }
            Input::ChangePolicies(agent, files, reply) => {
                let outcome = Box::pin(self.change_policies(&agent, files)).await;
                self.hand_back(reply, outcome)
            }
            Input::ExtractorEnded { name, state } => Box::pin(self.hook_ended(&name, &state)).await,
            Input::HookWrote(hook, state) => Box::pin(self.hook_ended(hook.as_str(), &state)).await,
            Input::ProviderAnswered {
                request,
                confirmation,
                by,
            } => Box::pin(self.provider_answered(request, confirmation, by)).await,
            Input::CloseIfRequested => Box::pin(self.close_if_requested()).await,
            Input::DeadlineReached => self.deadline_reached().await,
            Input::LeaseEnded(ended) => Err(ended.into()),
        }
    }

    /// Handles events of the connection. Records a write report in one batch with the message that
    /// follows it at once.
    ///
    /// If the session, its connection or the engine is about to end, the report is recorded first,
    /// so that nothing starts before that end.
    async fn receive(&mut self, incoming: Incoming) -> Result<(), Error> {
        let current = self
            .connections
            .socket
            .as_ref()
            .map(|socket| (socket.id, socket.epoch));
        let (mut written, mut next) = (Vec::new(), Some(incoming));
        while let Some(incoming) = next {
            match (incoming, current) {
                (
                    Incoming::Frame {
                        socket,
                        text,
                        number,
                    },
                    Some((id, epoch)),
                ) if socket == id => {
                    self.connections.silence = None;
                    self.record_frame(&text);
                    let heard = self.hear(epoch, &text, written).await;
                    self.connections.media.reached(epoch);
                    self.connections.heard = number;
                    // A message that cannot be recorded ends the task, and the orders with it.
                    if heard.is_ok() {
                        self.order_heard();
                    }
                    return heard;
                }
                (Incoming::Written { socket, carried }, Some((id, epoch))) if socket == id => {
                    self.connections.reconnecting.addressed = true;
                    written.extend(self.stream.written(epoch, carried));
                    if self.is_ending() {
                        break;
                    }
                }
                (Incoming::Lost { socket, lost }, Some((id, epoch))) if socket == id => {
                    if !written.is_empty() {
                        self.record(written).await?;
                    }
                    self.record_step(|| Step::ConnectionLost(self.recorded_loss(&lost)));
                    return Box::pin(self.lost(epoch, lost)).await;
                }
                // Events of an older connection are dropped.
                (Incoming::Frame { .. } | Incoming::Written { .. } | Incoming::Lost { .. }, _) => {}
            }
            next = self.connections.incoming.try_recv().ok();
        }
        if written.is_empty() {
            return Ok(());
        }
        self.record(written).await
    }

    /// True if the session, its connection or the engine ends as soon as nothing is in flight.
    fn is_ending(&self) -> bool {
        let leaves = self.stream.session.closing.is_some() || self.stream.session.leaving.is_some();
        leaves || self.draining.is_some()
    }

    /// Records a message of the live connection, after the write reports in `before`.
    async fn hear(
        &mut self,
        epoch: Seq,
        text: &str,
        mut before: Vec<Observation>,
    ) -> Result<(), Error> {
        let depth_max = self.json_depth_max();
        let socket = self.connections.socket.as_mut();
        let mut streamed = socket.map_or_else(Default::default, |it| take(&mut it.streamed));
        let Heard {
            mut observations,
            handle,
        } = self.agent.heard(epoch, text, depth_max, &mut streamed);
        if let Some(socket) = &mut self.connections.socket {
            socket.streamed = streamed;
        }
        self.note_connection(epoch, &mut observations);
        self.split_off_rest(epoch, &mut observations);
        self.seal_secrets(&mut observations).await?;
        let bound = |it| incoming::bound_call(epoch, it);
        observations.iter_mut().for_each(bound);
        before.extend(observations);
        if before.is_empty() {
            return Ok(());
        }
        self.record_heard(before, handle).await
    }

    /// Returns the maximum nesting depth of protocol objects in the service's messages.
    pub(in crate::engine) fn json_depth_max(&self) -> usize {
        let limits = self.agent.connector.as_ref().map(|it| it.limits());
        limits.unwrap_or_default().json_depth_max
    }

    /// Admits a command and records its observation. A refused answer or result is recorded as
    /// refused.
    pub(in crate::engine) async fn command(&mut self, mut command: Command) -> Result<Seq, Error> {
        self.redact_repeat(&mut command);
        // An answer after the expiry must not count because the clock was read late. One reading
        // decides: a command admitted in time is recorded with that time, however long the append
        // takes.
        let now = self.shared.clock.now();
        self.put_at(now, Vec::new(), Objects::default()).await?;
        self.perform().await?;
        let attempt = AttemptedAnswer::of(&self.stream.session, &command);
        let admitted = admit_at(&self.stream.session, now, command);
        match admitted.and_then(|it| self.fits_redacted(it)) {
            Ok(mut observation) => {
                self.word_cancellation(&mut observation);
                self.stream.requested = self.requested.take();
                let seq = self
                    .put_at(now, vec![observation], Objects::default())
                    .await?;
                self.perform().await?;
                self.attach_if_needed().await?;
                self.disconnect_if_closed().await?;
                Ok(seq)
            }
            Err(rejection) => {
                let on_record = attempt.and_then(|it| it.refused(&self.stream.session, &rejection));
                if let Some(observation) = on_record {
                    self.record(vec![observation]).await?;
                }
                Err(Error::Refused(rejection))
            }
        }
    }

    pub(in crate::engine) async fn send_text(
        &mut self,
        text: String,
        place: Place,
    ) -> Result<(), Error> {
        let Some(epoch) = self.connections.socket.as_ref().map(|socket| socket.epoch) else {
            return Err(Error::NotConnected { session: self.id });
        };
        let frame = |text: &str| outgoing::user_text(text, self.agent.capabilities);
        let recorder = self.agent.recorder.as_ref();
        let recorded = recorder.and_then(|_| self.agent.hooks.recorded_words(&text));
        let recorded = recorded.map(|text| frame(&text));
        let (frame, heard) = (frame(&text), text.clone());
        let said = fits(UserTextSent { epoch, text }.into())?;
        self.record(vec![said]).await?;
        if let Some(socket) = &self.connections.socket {
            socket.say(frame, recorded, place);
            self.connections.reconnecting.addressed = true;
        }
        self.connections
            .media
            .tell_tools(|| InputEvent::Text(heard));
        Ok(())
    }

    /// Returns the current state that the session's tools share.
    pub(in crate::engine) fn state(&self) -> State {
        let (temporary, watchers) = (
            self.running.temporary.clone(),
            self.running.watchers.clone(),
        );
        State::of(self.stream.session.state.clone(), temporary, watchers)
    }

    /// Sends an outcome to its caller. An error of the ledger also ends the task.
    pub(in crate::engine) fn hand_back<T>(
        &self,
        reply: Reply<T>,
        outcome: Result<T, Error>,
    ) -> Result<(), Error> {
        let fatal = match &outcome {
            Err(error @ Error::Ledger(_)) => Err(Error::Stopped {
                session: self.id,
                cause: causes(error),
                unwritable: error.is_unwritable(),
            }),
            Ok(_) | Err(_) => Ok(()),
        };
        // The caller may be gone.
        let _ = reply.send(outcome);
        fatal
    }
}

impl Stream {
    /// Returns the observation that something owed to the model was written.
    fn written(&self, epoch: Seq, carried: Carried) -> Option<Observation> {
        match carried {
            // It was taken back while in flight. Its content takes another route, which settles it.
            Carried::Response(response, by) if self.is_rerouted(response, by) => None,
            Carried::Response(response, _) => {
                let responses = vec![response];
                Some(ResponsesSent { epoch, responses }.into())
            }
            Carried::Instruction(phase) => Some(InstructionSent { epoch, phase }.into()),
        }
    }
}
