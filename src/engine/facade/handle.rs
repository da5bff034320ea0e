//! The handle of a live session.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::task::AbortOnDropHandle;

use crate::engine::agents::prepared::Prepared;
use crate::engine::error::Error;
use crate::engine::inputs::inbox::{Input, UserText};
use crate::engine::inputs::registry::TaskRef;
use crate::engine::live_media::piece::Piece;
use crate::engine::notify::callbacks::Callbacks;
use crate::engine::notify::listener::Listener;
use crate::engine::notify::updates::Updates;
use crate::engine::operations::closing::closes;
use crate::engine::operations::responding::foreign_request_about;
use crate::engine::serving::engine::Engine;
use crate::engine::task::session_task::Begin;
use crate::ledger::{LeaveInForce, PausedCall, PendingConfirmation};
use crate::session::{Actor, CallId, Command, Rejection, RequestId, Seq, Session, SessionId};
use crate::tool::{FunctionResponse, State, Ticket, ToolConfirmation};

/// A handle of a live session.
///
/// Dropping the last handle of the session ends the connection and cancels running calls. A call
/// that waits for an approver, or for an outside response, stays open until the session is resumed.
/// A clone is a handle of its own, so a service may give one to each task.
pub struct LiveHandle {
    pub(in crate::engine) session: SessionId,
    pub(in crate::engine) engine: Engine,
    pub(super) task: TaskRef,
    /// The tasks that run the callbacks, until the last clone is dropped.
    hearing: Vec<Arc<AbortOnDropHandle<()>>>,
    /// True if the drop of the last such handle ends the connection and the running calls.
    is_taken: bool,
}

impl Engine {
    /// Resumes an existing session: connects, sends the model what it missed, and starts the owed
    /// calls.
    ///
    /// # Errors
    /// If the session or its agent is unknown, or the connection cannot be opened.
    pub async fn resume(&self, session: SessionId) -> Result<LiveHandle, Error> {
        let agent = self.agent_of(session).await?;
        let handle = self.handle(session, agent, Begin::Resume);
        handle.connected().await
    }

    pub(in crate::engine) fn handle(
        &self,
        session: SessionId,
        agent: Arc<Prepared>,
        begin: Begin,
    ) -> LiveHandle {
        let task = self.send(session, agent, begin, Input::HandleTaken);
        LiveHandle::new(session, self.clone(), task)
    }
}

impl LiveHandle {
    pub(in crate::engine) fn new(session: SessionId, engine: Engine, task: TaskRef) -> LiveHandle {
        LiveHandle {
            session,
            engine,
            task,
            hearing: Vec::new(),
            is_taken: true,
        }
    }

    /// Connects before the caller gets the handle. If that fails, the handle is only returned, so
    /// running calls of the session continue.
    pub(in crate::engine) async fn connected(mut self) -> Result<LiveHandle, Error> {
        self.is_taken = false;
        self.connect().await?;
        self.is_taken = true;
        Ok(self)
    }

    /// Runs callbacks for the conversation, until this handle and its clones are dropped.
    pub fn attend(&mut self, callbacks: Callbacks) {
        if callbacks.has_any() {
            let hearing = callbacks.hear(self.listen(), self.task.clone());
            let hearing = AbortOnDropHandle::new(tokio::spawn(hearing));
            self.hearing.push(Arc::new(hearing));
        }
    }

    /// Returns the events of the live conversation, before they are recorded: audio, text and
    /// transcripts.
    ///
    /// No tool delays it. [`subscribe`](LiveHandle::subscribe) has the recorded facts.
    pub fn listen(&self) -> Listener {
        Listener {
            receiver: self.task.media.listen(),
            task: self.task.clone(),
        }
    }

    /// Sends a piece of the user's audio: 16-bit PCM, one channel, 16,000 samples a second, about
    /// 10 to 100 ms long.
    ///
    /// The audio bypasses the journal, which records only the amount. This method waits if the
    /// network is slower than the input. While the session reconnects, up to 32 pieces are queued,
    /// and then this method waits. Input and [text](LiveHandle::send_text) are sent in order.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     live: recount::LiveHandle,
    /// #     microphone: Vec<u8>,
    /// # ) -> Result<(), recount::engine::Error> {
    /// live.send_audio(microphone).await
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NotConnected`] if there is no connection and none is awaited.
    pub async fn send_audio(&self, pcm: impl Into<Arc<[u8]>>) -> Result<(), Error> {
        let format = "audio/pcm;rate=16000".to_owned();
        self.send_piece(Piece::Audio(format, pcm.into())).await
    }

    /// Sends a picture from the user, in a format such as `image/jpeg`, at most about once a
    /// second.
    ///
    /// # Errors
    /// [`Error::NotConnected`].
    pub async fn send_video(
        &self,
        mime_type: &str,
        picture: impl Into<Arc<[u8]>>,
    ) -> Result<(), Error> {
        let piece = Piece::Video(mime_type.to_owned(), picture.into());
        self.send_piece(piece).await
    }

    /// Marks the start of the user's speech, if the client detects it; see
    /// [`Agent::manual_activity`](crate::engine::Agent::manual_activity).
    ///
    /// # Errors
    /// [`Error::NotConnected`].
    pub async fn activity_start(&self) -> Result<(), Error> {
        self.send_piece(Piece::ActivityStart).await
    }

    /// Marks the end of the user's speech, if the client detects it.
    ///
    /// # Errors
    /// [`Error::NotConnected`].
    pub async fn activity_end(&self) -> Result<(), Error> {
        self.send_piece(Piece::ActivityEnd).await
    }

    /// Marks the end of the audio stream, such as a muted microphone, if the service detects
    /// activity.
    ///
    /// # Errors
    /// [`Error::NotConnected`].
    pub async fn audio_stream_end(&self) -> Result<(), Error> {
        self.send_piece(Piece::AudioStreamEnd).await
    }

    /// True if live input is withheld, because the model waits for a response.
    ///
    /// It happens only if the agent [withholds](crate::engine::Agent::withhold_input_during_calls)
    /// input. Listeners get an event for the start and the end.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     live: recount::LiveHandle,
    /// #     piece: Vec<u8>,
    /// # ) -> Result<(), recount::engine::Error> {
    /// if live.withholds_input() {
    ///     println!("One moment please.");
    /// }
    /// live.send_audio(piece).await
    /// # }
    /// ```
    pub fn withholds_input(&self) -> bool {
        self.task.media.is_withholding()
    }

    async fn send_piece(&self, piece: Piece) -> Result<(), Error> {
        let session = self.session;
        let sent = self.task.media.send(piece).await;
        sent.then_some(()).ok_or(Error::NotConnected { session })
    }

    /// Returns the session's id.
    pub fn session_id(&self) -> SessionId {
        self.session
    }

    /// Returns the engine that serves it.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Sends text of the user to the model, after the live input sent before.
    ///
    /// # Errors
    /// [`Error::NotConnected`]. If the journal cannot be written, nothing is sent.
    pub async fn send_text(&self, text: impl Into<String>) -> Result<(), Error> {
        let user_text = UserText {
            text: text.into(),
            place: Some(self.task.media.place_of_text()),
        };
        self.ask(|reply| Input::SendText(user_text, reply)).await
    }

    /// Subscribes to the recorded facts of this session from now on, until the session is closed or
    /// its task ends. [`state`](LiveHandle::state) then returns the reason.
    pub fn subscribe(&self) -> Updates {
        let updates = self.engine.inner.publisher.subscribe();
        Updates::of_one(updates, self.session, self.task.clone())
    }

    /// Returns the open confirmation requests of this session.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub async fn pending(&self) -> Result<Vec<PendingConfirmation>, Error> {
        let ledger = &self.engine.inner.ledger;
        Ok(ledger.pending_in(self.session).await?)
    }

    /// Returns the standing leaves in force of this session.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub async fn standing_leaves(&self) -> Result<Vec<LeaveInForce>, Error> {
        let inner = &self.engine.inner;
        let mut leaves = inner.ledger.leaves_in(self.session).await?;
        leaves.retain(|it| it.is_in_force(inner.clock.now()));
        Ok(leaves)
    }

    /// Returns the calls of this session that wait for an outside response.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub async fn paused(&self) -> Result<Vec<PausedCall>, Error> {
        let ledger = &self.engine.inner.ledger;
        Ok(ledger.paused_in(self.session).await?)
    }

    /// Returns the calls of this session that wait for an approver or an outside result, from
    /// [`Session::long_running_tool_ids`](crate::session::Session::long_running_tool_ids).
    ///
    /// # Errors
    /// If the session's task has stopped.
    pub async fn long_running_tool_ids(&self) -> Result<Vec<CallId>, Error> {
        let session = self.session().await?;
        Ok(session.long_running_tool_ids())
    }

    /// True if all open calls of this session wait for an approver or an outside result, by
    /// [`Session::should_pause`](crate::session::Session::should_pause).
    ///
    /// # Errors
    /// If the session's task has stopped.
    pub async fn should_pause(&self) -> Result<bool, Error> {
        Ok(self.session().await?.should_pause())
    }

    /// Answers a confirmation request of this session, as [`Engine::answer`] does. A request of
    /// another session is unknown here and stays open; the attempt is recorded with it.
    ///
    /// # Errors
    /// Those of [`Engine::answer`].
    pub async fn answer(
        &self,
        request: RequestId,
        confirmation: ToolConfirmation,
        by: Actor,
    ) -> Result<Seq, Error> {
        let answer = |reply| Input::Answer {
            request,
            confirmation: Ok(confirmation),
            by: by.clone(),
            reply,
        };
        let answered = self.ask(answer).await;
        if let Err(Error::UnknownRequest { .. }) = answered {
            let engine = &self.engine;
            Box::pin(engine.refuse_foreign(self.session, request, &by)).await;
        }
        answered
    }

    /// Supplies the result of a paused call of this session, as [`Engine::respond`] does.
    ///
    /// # Errors
    /// Those of [`Engine::respond`]; [`Error::UnknownCall`] for a call of another session.
    pub async fn respond(&self, ticket: &Ticket, response: Value, by: Actor) -> Result<Seq, Error> {
        if ticket.session != self.session {
            let engine = &self.engine;
            if let Some(request) = foreign_request_about(engine.ledger(), ticket).await {
                Box::pin(engine.refuse_foreign(self.session, request, &by)).await;
            }
            let call = ticket.session.call_id(ticket.call);
            return Err(Error::UnknownCall { call });
        }
        self.engine
            .respond(ticket, FunctionResponse::new(&ticket.tool, response), by)
            .await
    }

    /// Cancels a call; the cancellation is delivered to the model.
    ///
    /// # Errors
    /// [`Error::Refused`] if the call ended before.
    pub async fn cancel(&self, call: Seq, reason: Option<String>, by: Actor) -> Result<Seq, Error> {
        self.ask(|reply| Input::Command(Command::CancelCall { call, reason, by }, reply))
            .await
    }

    /// Revokes a standing leave of this session, as [`Engine::revoke_leave`] does.
    ///
    /// # Errors
    /// Those of [`Engine::revoke_leave`].
    pub async fn revoke_leave(
        &self,
        leave: Seq,
        reason: Option<String>,
        by: Actor,
    ) -> Result<Seq, Error> {
        self.ask(|reply| Input::Command(Command::RevokeLeave { leave, reason, by }, reply))
            .await
    }

    /// Returns the current session.
    ///
    /// # Errors
    /// If its task has stopped.
    pub async fn session(&self) -> Result<Session, Error> {
        let (reply, session) = oneshot::channel();
        let _ = self.task.inbox.send(Input::Session(reply));
        session.await.map_err(|_| self.task.stopped(self.session))
    }

    /// Returns the current state that the session's tools, hooks and phases share, to read and to
    /// watch.
    ///
    /// Writes to it are dropped; use [`change_state`](LiveHandle::change_state) instead.
    ///
    /// # Errors
    /// If the session's task has stopped.
    pub async fn state(&self) -> Result<State, Error> {
        let (reply, state) = oneshot::channel();
        let _ = self.task.inbox.send(Input::State(reply));
        state.await.map_err(|_| self.task.stopped(self.session))
    }

    /// Writes to the state, and returns the record. All writes of `write` are one recorded change.
    ///
    /// ```no_run
    /// # async fn example(live: recount::LiveHandle) -> Result<(), recount::engine::Error> {
    /// use recount::session::Actor;
    /// live.change_state(Actor::embedder("ada"), |state| state.set("plan_agreed", true)).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Refused`] if nothing was written, a key or a value does not fit a record, or the
    /// session is closed.
    pub async fn change_state(&self, by: Actor, write: impl FnOnce(&State)) -> Result<Seq, Error> {
        let state = self.state().await?;
        write(&state);
        let unfit = |problem| Error::Refused(Rejection::UnfitState { problem });
        let changes = state.take_changes().map_err(unfit)?;
        self.ask(|reply| Input::Command(Command::ChangeState { changes, by }, reply))
            .await
    }

    /// Opens a connection, after the last one ended.
    ///
    /// # Errors
    /// [`Error::AlreadyConnected`], or the error in opening the connection.
    pub async fn connect(&self) -> Result<(), Error> {
        self.ask(Input::Connect).await
    }

    /// Ends the connection and cancels running calls.
    ///
    /// # Errors
    /// An error of the journal if it cannot be written, or if its disk is full.
    pub async fn disconnect(&self) -> Result<(), Error> {
        self.ask(Input::Disconnect).await
    }

    /// Closes the session, which cancels its open calls.
    ///
    /// # Errors
    /// [`Error::Refused`] if it is closed already.
    pub async fn close(&self, reason: &str, by: Actor) -> Result<Seq, Error> {
        let command = closes(reason, by);
        self.ask(|reply| Input::Command(command, reply)).await
    }

    /// Waits until the session is closed, perhaps by another program, or its task has ended. The
    /// wait itself keeps neither.
    pub fn ended(&self) -> impl Future<Output = ()> + Send + use<> {
        let task = self.task.clone();
        async move {
            tokio::select! {
                () = task.over.cancelled() => {}
                () = task.inbox.closed() => {}
            }
        }
    }

    /// Returns the handle as one whose drop ends nothing: running calls continue, and the session's
    /// task ends once it is idle. A connection stays open until it is silent.
    ///
    /// Dropping another last handle would cancel running calls. A clone of the handle is like it.
    ///
    /// ```
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    /// # runtime.unwrap().block_on(async {
    /// use recount::prelude::*;
    /// use recount::session::Json;
    ///
    /// let ship = T::simple("ship", "Ships", |_| async { Ok(json!({"shipped": true})) });
    /// let engine = Engine::in_memory().agent("orders", Agent::new().tools(ship)).open().await?;
    /// let session = engine.session("orders").open().await?.releasing();
    /// let (args, by) = (Json::of(&json!({})), Actor::embedder("pipeline"));
    /// let begun = session.begin_call("ship", args, "order-7", by).await?;
    /// drop(session);
    /// assert_eq!(begun.outcome().await?, Ok(json!({"shipped": true})));
    /// # Ok::<(), recount::engine::Error>(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn releasing(mut self) -> LiveHandle {
        self.is_taken = false;
        self
    }

    pub(super) async fn ask<T>(
        &self,
        input: impl FnOnce(oneshot::Sender<Result<T, Error>>) -> Input,
    ) -> Result<T, Error> {
        self.engine.expect_room()?;
        let (reply, answer) = oneshot::channel();
        let _ = self.task.inbox.send(input(reply));
        answer.await.map_err(|_| self.task.stopped(self.session))?
    }
}

impl From<&PausedCall> for Ticket {
    fn from(paused: &PausedCall) -> Ticket {
        Ticket {
            session: paused.session,
            call: paused.call,
            tool: paused.tool.clone(),
        }
    }
}

impl Clone for LiveHandle {
    fn clone(&self) -> LiveHandle {
        // Counted before this handle can be dropped, because both inputs go through one queue.
        let _ = self.task.inbox.send(Input::HandleTaken);
        LiveHandle {
            session: self.session,
            engine: self.engine.clone(),
            task: self.task.clone(),
            hearing: self.hearing.clone(),
            is_taken: self.is_taken,
        }
    }
}

impl Drop for LiveHandle {
    fn drop(&mut self) {
        let _ = self.task.inbox.send(if self.is_taken {
            Input::HandleDropped
        } else {
            Input::HandleReturned
        });
    }
}

impl std::fmt::Debug for LiveHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveHandle")
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}
