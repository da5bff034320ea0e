//! The loop of one session: receive, admit, step, append, perform.
//!
//! It is the session's only writer. Whatever happens to the session comes in through its two queues and is on record
//! before anything follows from it; when the journal fails, the task stops and nothing runs any more.

use std::collections::BTreeMap;
use std::mem::take;
use std::sync::{Arc, OnceLock};

use tokio::sync::{Mutex, mpsc};
use tokio::task::yield_now;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::alarm::Alarm;
use super::draining::Draining;
use super::stint::Stint;
use super::timer::Timer;
use crate::engine::admission::attempted_answer::AttemptedAnswer;
use crate::engine::agent::extractors::Turn;
use crate::engine::agent::prepared::Prepared;
use crate::engine::clock::Clock;
use crate::engine::connection::incoming::Incoming;
use crate::engine::connection::message_limit::Rest;
use crate::engine::connection::reconnecting::Reconnecting;
use crate::engine::connection::socket::Socket;
use crate::engine::connection::writer::{Carried, Outgoing};
use crate::engine::effects::performer::Performer;
use crate::engine::effects::slots::Slots;
use crate::engine::error::{Error, causes};
use crate::engine::inbox::asking::Waiting;
use crate::engine::inbox::callers::Caller;
use crate::engine::inbox::inbox::{Inbox, Input, Reply};
use crate::engine::inbox::registry::Registry;
use crate::engine::media::input_lines::Place;
use crate::engine::media::media::Media;
use crate::engine::notify::publisher::Publisher;
use crate::engine::reasons;
use crate::fixture::Step;
use crate::ledger::{Ledger, Objects, Recorded, Seal, Tail};
use crate::live::setup;
use crate::live::translate::{self, Heard};
use crate::session::{
    Call, Command, Hook, InstructionSent, Json, Observation, ResponsesSent, Seq, Session,
    SessionId, SessionOpened, UserTextSent, admit, fits,
};
use crate::tool::{InputEvent, State, Temporary, Watchers};

/// How a task begins.
pub(in crate::engine) enum Begin {
    /// With a session that nobody has seen yet.
    Open(SessionOpened),
    /// With what the journal has of it.
    Resume,
}

/// The loop of one session.
pub(in crate::engine) struct SessionTask {
    pub(in crate::engine) id: SessionId,
    pub(in crate::engine) agent: Arc<Prepared>,
    pub(in crate::engine) ledger: Ledger,
    pub(in crate::engine) room: super::full_disk::RoomWait,
    /// Held while somebody else writes to a session, whose agent was not here.
    pub(in crate::engine) desk: Arc<Mutex<()>>,
    pub(in crate::engine) clock: Arc<dyn Clock>,
    pub(in crate::engine) publisher: Publisher,
    pub(in crate::engine) registry: Arc<Registry>,
    pub(in crate::engine) failure: Arc<OnceLock<String>>,
    pub(in crate::engine) session: Session,
    pub(in crate::engine) tail: Tail,
    /// How far it had come when this task, or whoever opens it next, last folded it.
    pub(in crate::engine) folded: Seq,
    pub(in crate::engine) seal: Seal,
    /// The records of the last batch, until it is performed.
    pub(in crate::engine) latest: Vec<Arc<Recorded>>,
    pub(in crate::engine) performer: Performer,
    /// Tells when the first of the session's times has come.
    pub(in crate::engine) timer: Option<Timer>,
    pub(in crate::engine) socket: Option<Socket>,
    pub(in crate::engine) sockets: u64,
    /// The connection that is being opened, while there is one.
    pub(in crate::engine) opening: Option<AbortOnDropHandle<()>>,
    /// What it takes to come back after a loss.
    pub(in crate::engine) reconnecting: Reconnecting,
    /// Set once the engine shuts down.
    pub(in crate::engine) draining: Option<Draining>,
    /// The runner that this task attached.
    pub(in crate::engine) attached: Option<Seq>,
    /// The `temp:` values, and who watches the state.
    pub(in crate::engine) temporary: Temporary,
    pub(in crate::engine) watchers: Arc<Watchers>,
    /// What was said since the last turn ended, and the hooks that read the one before.
    pub(in crate::engine) turn: Turn,
    pub(in crate::engine) extracting: Vec<AbortOnDropHandle<()>>,
    /// Where audio and video pass by.
    pub(in crate::engine) media: Arc<Media>,
    /// Words of ours that wait until the model takes live input again, with their connection.
    pub(in crate::engine) kept: Vec<(Seq, Outgoing)>,
    /// The places of the engine for running tools.
    pub(in crate::engine) slots: Slots,
    /// Who wakes the session at a time, once it has no task.
    pub(in crate::engine) alarm: Arc<Alarm>,
    /// The programs that wait for their own calls.
    pub(in crate::engine) callers: BTreeMap<Seq, Caller>,
    /// The tools that wait for an answer where they stand, by call.
    pub(in crate::engine) asking: BTreeMap<Seq, Waiting>,
    /// How long nothing was said on a connection that nobody holds.
    pub(in crate::engine) silence: Option<AbortOnDropHandle<()>>,
    pub(in crate::engine) silences: u64,
    pub(in crate::engine) handles: usize,
    pub(in crate::engine) stint: Stint,
    /// Fires once the session is closed: whoever follows it hears no more.
    pub(in crate::engine) over: CancellationToken,
    pub(in crate::engine) inbox: mpsc::UnboundedReceiver<Box<Input>>,
    pub(in crate::engine) own: Inbox,
    /// The rest of a message that brought more calls than it may.
    pub(in crate::engine) rest: Rest,
    pub(in crate::engine) incoming: mpsc::Receiver<Incoming>,
    pub(in crate::engine) incoming_sender: mpsc::Sender<Incoming>,
}

impl SessionTask {
    /// Serves the session until nobody needs it, it is shut down, or something fails.
    ///
    /// What it does is boxed while it is done: a session that waits holds no room for the work it is not doing. It is in a box itself,
    /// because a future keeps room for every place that an owned value is moved to.
    pub(in crate::engine) async fn serve(mut self: Box<Self>, begin: Begin) {
        if let Err(error) = Box::pin(self.begin(begin)).await {
            return self.fail(&error);
        }
        loop {
            if self.is_idle() {
                match Box::pin(self.retire()).await {
                    Ok(true) => return,
                    Ok(false) => {}
                    Err(error) => return self.fail(&error),
                }
            }
            let outcome = tokio::select! {
                biased;
                Some(input) = self.inbox.recv() => Box::pin(self.handle(input)).await,
                () = yield_now(), if !self.rest.is_empty() => Box::pin(self.hear_rest()).await,
                Some(incoming) = self.incoming.recv(), if self.rest.is_empty() => {
                    Box::pin(self.receive(incoming)).await
                }
            };
            if self.is_drained() && outcome.is_ok() {
                return Box::pin(self.shut_down()).await;
            }
            let outcome = match outcome {
                Ok(()) => self.look_after_connection().await,
                Err(error) => Err(error),
            };
            if let Err(error) = outcome {
                return self.fail(&error);
            }
        }
    }

    /// What is due on the connection after whatever happened.
    async fn look_after_connection(&mut self) -> Result<(), Error> {
        self.watch_silence();
        self.note_awaited();
        self.say_what_waited().await?;
        self.switch_if_idle().await
    }

    async fn begin(&mut self, begin: Begin) -> Result<(), Error> {
        match begin {
            Begin::Open(opened) => {
                self.seal = self.new_seal().await?;
                self.attach(vec![opened.into()]).await
            }
            Begin::Resume => {
                // Whoever began to write before the agent was here comes first; nobody begins to from here on.
                drop(self.desk.lock().await);
                let loaded = self.ledger.load(self.id).await?;
                self.folded = loaded.tail.seq;
                (self.session, self.tail, self.seal) = (loaded.session, loaded.tail, loaded.seal);
                self.close_as_asked().await?;
                // Nobody is asked again for a tool that waited in a process which is gone: attaching withdraws it.
                let waited = |it: &Call| it.in_place.is_some();
                if !self.session.calls.values().any(waited) {
                    self.record(Vec::new()).await?;
                }
                self.attach_if_needed().await
            }
        }
    }

    async fn handle(&mut self, input: Box<Input>) -> Result<(), Error> {
        match *input {
            Input::Connect(reply) => Box::pin(self.connect(reply)).await,
            Input::Opened(opened) => Box::pin(self.opened(opened)).await,
            Input::Disconnect(reply) => {
                let outcome = Box::pin(self.disconnect(reasons::DISCONNECTED)).await;
                self.answer(reply, outcome)
            }
            Input::Drain { until, reply } => Box::pin(self.drain(until, reply)).await,
            Input::SilenceDue { number } => Box::pin(self.fold_if_silent(number)).await,
            Input::ConnectToTell => Box::pin(self.connect_to_tell()).await,
            Input::ReconnectDue { attempt } => Box::pin(self.reconnect_due(attempt)).await,
            Input::HeldDue => Box::pin(self.held_due()).await,
            Input::SwitchDue { epoch } => Box::pin(self.switch(epoch)).await,
            Input::SendText(words, reply) => Box::pin(self.words_came(words, reply)).await,
            Input::Answer {
                request,
                confirmation,
                by,
                reply,
            } => {
                let named = |seq: &&Seq| self.id.request_id(**seq) == request;
                let outcome = match self.session.requests.keys().find(named).copied() {
                    Some(request) => {
                        Box::pin(self.answer_confirmation(request, confirmation, by)).await
                    }
                    None => Err(Error::UnknownRequest { request }),
                };
                self.answer(reply, outcome)
            }
            Input::Command(command, reply) => {
                let Some((command, reply)) = self.show_supplied(command, reply) else {
                    return Ok(());
                };
                let outcome = Box::pin(self.command(command)).await;
                self.answer(reply, outcome)
            }
            Input::Shown {
                command,
                state,
                reply,
            } => {
                let written = self.written_by(Hook::BeforeToolResponse.as_str(), &state);
                self.record(written.into_iter().collect()).await?;
                let outcome = Box::pin(self.command(command)).await;
                self.answer(reply, outcome)
            }
            Input::HookAnswered {
                answers,
                state,
                others,
            } => Box::pin(self.hook_answered(answers, &state, &others)).await,
            Input::Session(reply) => {
                let _ = reply.send(self.session.clone());
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
            Input::HandleDropped => {
                self.handles = self.handles.saturating_sub(1);
                if self.handles == 0 {
                    Box::pin(self.disconnect(reasons::DROPPED)).await
                } else {
                    Ok(())
                }
            }
            Input::HandleReturned => {
                self.handles = self.handles.saturating_sub(1);
                if self.handles == 0 {
                    self.opening = None;
                    self.stop_reconnecting();
                }
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
                // The tool may go on to its next result.
                let _ = recorded.send(());
                Ok(())
            }
            Input::ToolAsks(asked, tool) => Box::pin(self.tool_asks(asked, tool)).await,
            Input::ToolEmitted(emitted, _place) => {
                // What is too large for the record is not worth a session.
                match fits(emitted.into()) {
                    Ok(emitted) => self.record(vec![emitted]).await,
                    Err(rejection) => {
                        tracing::warn!(session = %self.id, %rejection, "an event of a tool was dropped");
                        Ok(())
                    }
                }
            }
            Input::CallFunction {
                name,
                args,
                by,
                caller,
            } => Box::pin(self.call_function(name, args, by, caller)).await,
            Input::HookEnded { name, state } => Box::pin(self.hook_ended(&name, &state)).await,
            Input::HookWrote(hook, state) => Box::pin(self.hook_ended(hook.as_str(), &state)).await,
            Input::ProviderAnswered {
                request,
                confirmation,
                by,
            } => {
                // Another door may have been quicker, or the answer does not fit; that is on record and nobody waits for it.
                match Box::pin(self.answer_confirmation(request, Ok(confirmation), by)).await {
                    Ok(_) | Err(Error::Refused(_)) => Ok(()),
                    Err(error) => Err(error),
                }
            }
            Input::CloseAsAsked => Box::pin(self.close_as_asked()).await,
            Input::TimeCame => self.time_came().await,
        }
    }

    /// That a message was written is recorded together with a message that came at once behind it, unless something is about to end with
    /// what was written: then nothing may begin before it has.
    async fn receive(&mut self, incoming: Incoming) -> Result<(), Error> {
        let current = self.socket.as_ref().map(|socket| (socket.id, socket.epoch));
        let (mut written, mut next) = (Vec::new(), Some(incoming));
        while let Some(incoming) = next {
            match (incoming, current) {
                (Incoming::Frame { socket, text }, Some((id, epoch))) if socket == id => {
                    self.silence = None;
                    self.record_frame(&text);
                    let heard = self.hear(epoch, &text, written).await;
                    self.media.reached(epoch);
                    return heard;
                }
                (Incoming::Written { socket, carried }, Some((id, epoch))) if socket == id => {
                    self.reconnecting.addressed = true;
                    written.extend(self.written(epoch, carried));
                    if self.is_ending() {
                        break;
                    }
                }
                (Incoming::Lost { socket, lost }, Some((id, epoch))) if socket == id => {
                    if !written.is_empty() {
                        self.record(written).await?;
                    }
                    self.record_step(|| {
                        Step::ConnectionLost(self.refused(lost.code, &lost.reason))
                    });
                    return Box::pin(self.lost(epoch, lost)).await;
                }
                // What an older connection still had to say belongs to nobody.
                (Incoming::Frame { .. } | Incoming::Written { .. } | Incoming::Lost { .. }, _) => {}
            }
            next = self.incoming.try_recv().ok();
        }
        if written.is_empty() {
            return Ok(());
        }
        self.record(written).await
    }

    /// Whether the session, its connection or the engine ends as soon as nothing is under way.
    fn is_ending(&self) -> bool {
        let leaves = self.session.closing.is_some() || self.session.leaving.is_some();
        leaves || self.draining.is_some()
    }

    /// What it puts on record that a message was written which was owed to the model.
    fn written(&self, epoch: Seq, carried: Carried) -> Option<Observation> {
        match carried {
            // It was taken back on its way, and what it said goes another way now, which settles it.
            Carried::Response(response, by) if self.goes_otherwise(response, by) => None,
            Carried::Response(response, _) => {
                let responses = vec![response];
                Some(ResponsesSent { epoch, responses }.into())
            }
            Carried::Instruction(phase) => Some(InstructionSent { epoch, phase }.into()),
        }
    }

    /// Records what was written just `before` a message of the live connection came, and what that says.
    async fn hear(
        &mut self,
        epoch: Seq,
        text: &str,
        mut before: Vec<Observation>,
    ) -> Result<(), Error> {
        let depth_max = self.json_depth_max();
        let socket = self.socket.as_mut();
        let mut streamed = socket.map_or_else(Default::default, |it| take(&mut it.streamed));
        let dispatcher = &self.agent.dispatcher;
        let check = |name: &str, args: &Json| dispatcher.check_text(name, args, &[]).err();
        let Heard {
            mut observations,
            handle,
        } = translate::heard(epoch, text, depth_max, &check, &mut streamed);
        if let Some(socket) = &mut self.socket {
            socket.streamed = streamed;
        }
        self.note_connection(epoch, &mut observations);
        self.split_off_rest(epoch, &mut observations);
        self.seal_secrets(&mut observations).await?;
        let bound = |it| translate::bound_call(epoch, it);
        observations.iter_mut().for_each(bound);
        before.extend(observations);
        if before.is_empty() {
            return Ok(());
        }
        self.record_heard(before, handle).await
    }

    /// How deep the protocol's own objects may nest in what the service sends.
    pub(in crate::engine) fn json_depth_max(&self) -> usize {
        let limits = self.agent.connector.as_ref().map(|it| it.limits());
        limits.unwrap_or_default().json_depth_max
    }

    /// Admits a command and records what it becomes; a refused answer is recorded as refused, and so is a result in its place.
    pub(in crate::engine) async fn command(&mut self, mut command: Command) -> Result<Seq, Error> {
        self.redact_repeat(&mut command);
        // An answer that comes after the expiry must not count just because nobody looked at the clock before. One
        // look decides: what is admitted in time is on record with that time, however long the append takes.
        let now = self.clock.now();
        self.put_at(now, Vec::new(), Objects::default()).await?;
        self.perform().await?;
        let attempt = AttemptedAnswer::of(&self.session, &command);
        match admit(&self.session, command).and_then(|it| self.fits_redacted(it)) {
            Ok(mut observation) => {
                self.word_cancellation(&mut observation);
                let seq = self
                    .put_at(now, vec![observation], Objects::default())
                    .await?;
                self.perform().await?;
                self.attach_if_needed().await?;
                self.end_what_is_closed().await?;
                Ok(seq)
            }
            Err(rejection) => {
                let on_record = attempt.and_then(|it| it.refused(&self.session, &rejection));
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
        let Some(epoch) = self.socket.as_ref().map(|socket| socket.epoch) else {
            return Err(Error::NotConnected { session: self.id });
        };
        let frame = setup::user_text(&text, self.agent.capabilities);
        let heard = text.clone();
        let said = fits(UserTextSent { epoch, text }.into())?;
        self.record(vec![said]).await?;
        if let Some(socket) = &self.socket {
            socket.say(frame, place);
            self.reconnecting.addressed = true;
        }
        self.media.tell_tools(|| InputEvent::Text(heard));
        Ok(())
    }

    /// What the tools of the session share, as it is now.
    pub(in crate::engine) fn state(&self) -> State {
        let (temporary, watchers) = (self.temporary.clone(), self.watchers.clone());
        State::of(self.session.state.clone(), temporary, watchers)
    }

    /// Hands an outcome to whoever asked; what broke the machinery also ends the task.
    pub(in crate::engine) fn answer<T>(
        &self,
        reply: Reply<T>,
        outcome: Result<T, Error>,
    ) -> Result<(), Error> {
        let fatal = match &outcome {
            Err(error @ Error::Ledger(_)) => Err(Error::Stopped {
                session: self.id,
                cause: causes(error),
            }),
            Ok(_) | Err(_) => Ok(()),
        };
        // Whoever asked may have gone away.
        let _ = reply.send(outcome);
        fatal
    }

    /// Stops: nothing is on record of what would follow, so nothing may follow.
    fn fail(self, error: &Error) {
        let cause = match error {
            Error::Stopped { cause, .. } => cause.clone(),
            other => causes(other),
        };
        tracing::error!(session = %self.id, %cause, "the session stopped");
        let _ = self.failure.set(cause);
        self.registry.remove(self.id);
    }
}
