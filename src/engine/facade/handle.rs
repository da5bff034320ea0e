//! A conversation in the hands of the embedding program.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::task::AbortOnDropHandle;

use crate::engine::agents::prepared::Prepared;
use crate::engine::error::Error;
use crate::engine::inputs::inbox::{Input, Words};
use crate::engine::inputs::registry::TaskRef;
use crate::engine::live_media::piece::Piece;
use crate::engine::notify::callbacks::Callbacks;
use crate::engine::notify::listener::Listener;
use crate::engine::notify::updates::Updates;
use crate::engine::operations::closing::closes;
use crate::engine::operations::responding::foreign_request_about;
use crate::engine::serving::engine::Engine;
use crate::engine::task::session_task::Begin;
use crate::ledger::{PausedCall, PendingConfirmation};
use crate::session::{Actor, CallId, Command, Json, Rejection, RequestId, Seq, Session, SessionId};
use crate::tool::{FunctionResponse, State, Ticket, ToolConfirmation, ToolError};

/// A live session.
///
/// Dropping the last handle of the session ends the connection and cancels running calls. A call
/// that waits for a person, or for a response from outside, stays open until the session is
/// resumed. A clone is a handle of its own, so a service may give one to each task.
pub struct LiveHandle {
    pub(in crate::engine) session: SessionId,
    pub(in crate::engine) engine: Engine,
    task: TaskRef,
    /// Calls the callbacks, if there are any, as long as somebody has the handle.
    hearing: Vec<Arc<AbortOnDropHandle<()>>>,
    /// True if somebody has it, or is about to.
    is_taken: bool,
}

impl Engine {
    /// Takes up a session of before: connects, tells the model what it has not heard, runs what was
    /// left to run.
    ///
    /// # Errors
    /// Where the session or its agent is unknown, or the connection cannot be opened.
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

    /// Connects, for whoever gets the handle then. Where that comes to nothing nobody has had it,
    /// so what runs in the session goes on.
    pub(in crate::engine) async fn connected(mut self) -> Result<LiveHandle, Error> {
        self.is_taken = false;
        self.connect().await?;
        self.is_taken = true;
        Ok(self)
    }

    /// Has callbacks hear the conversation, as long as this handle or a clone of it is there.
    pub fn attend(&mut self, callbacks: Callbacks) {
        if callbacks.hear_anything() {
            let hearing = callbacks.hear(self.listen(), self.task.clone());
            let hearing = AbortOnDropHandle::new(tokio::spawn(hearing));
            self.hearing.push(Arc::new(hearing));
        }
    }

    /// The conversation as it happens, past the journal: audio, and what is said and written,
    /// before it is on record.
    ///
    /// Nothing that a tool does delays it. [`subscribe`](LiveHandle::subscribe) has what is on
    /// record.
    pub fn listen(&self) -> Listener {
        Listener {
            receiver: self.task.media.listen(),
            task: self.task.clone(),
        }
    }

    /// Sends a piece of what the user says: PCM of 16 bits, one channel, 16,000 a second, some ten
    /// to a hundred milliseconds of it.
    ///
    /// It goes past the journal, which has only how much it was. Where the network takes less than
    /// comes, this waits. While the session connects again, input waits for the next connection: 32
    /// pieces, and then this waits, too. Input and [words](LiveHandle::send_text) leave in the
    /// order in which they were sent.
    ///
    /// ```no_run
    /// # async fn example(live: recount::LiveHandle, microphone: Vec<u8>) -> Result<(), recount::engine::Error> {
    /// live.send_audio(microphone).await
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NotConnected`] where there is no connection and none is awaited.
    pub async fn send_audio(&self, pcm: impl Into<Arc<[u8]>>) -> Result<(), Error> {
        let format = "audio/pcm;rate=16000".to_owned();
        self.send_piece(Piece::Audio(format, pcm.into())).await
    }

    /// Sends a picture of what the user shows, in a format such as `image/jpeg`; one a second is
    /// much.
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

    /// Says that the user begins to speak, where the client detects it; see
    /// [`Agent::manual_activity`](crate::engine::Agent::manual_activity).
    ///
    /// # Errors
    /// [`Error::NotConnected`].
    pub async fn activity_start(&self) -> Result<(), Error> {
        self.send_piece(Piece::ActivityStart).await
    }

    /// Says that the user has stopped speaking, where the client detects it.
    ///
    /// # Errors
    /// [`Error::NotConnected`].
    pub async fn activity_end(&self) -> Result<(), Error> {
        self.send_piece(Piece::ActivityEnd).await
    }

    /// Says that the microphone is off, where the service detects activity.
    ///
    /// # Errors
    /// [`Error::NotConnected`].
    pub async fn audio_stream_end(&self) -> Result<(), Error> {
        self.send_piece(Piece::AudioStreamEnd).await
    }

    /// True if the model waits for a response, so that live input is kept from it; only where the
    /// agent [withholds](crate::engine::Agent::withhold_input_during_calls) it. Who listens is told
    /// when that begins and ends.
    ///
    /// ```no_run
    /// # async fn example(live: recount::LiveHandle, piece: Vec<u8>) -> Result<(), recount::engine::Error> {
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

    /// The session's name.
    pub fn session_id(&self) -> SessionId {
        self.session
    }

    /// The engine that serves it.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Says something to the model as the user, behind the live input that was sent before.
    ///
    /// # Errors
    /// [`Error::NotConnected`]; where the journal cannot be written, nothing is sent.
    pub async fn send_text(&self, text: impl Into<String>) -> Result<(), Error> {
        let words = Words {
            text: text.into(),
            place: Some(self.task.media.place_of_words()),
        };
        self.ask(|reply| Input::SendText(words, reply)).await
    }

    /// Every fact of this session from now on, once it is on record, until the session is closed or
    /// nobody serves it any more; [`state`](LiveHandle::state) then says why.
    pub fn subscribe(&self) -> Updates {
        let updates = self.engine.inner.publisher.subscribe();
        Updates::of_one(updates, self.session, self.task.clone())
    }

    /// What of this session waits for an answer.
    ///
    /// # Errors
    /// Where the journal cannot be read.
    pub async fn pending(&self) -> Result<Vec<PendingConfirmation>, Error> {
        let ledger = &self.engine.inner.ledger;
        Ok(ledger.pending_in(self.session).await?)
    }

    /// What of this session waits for a response from outside.
    ///
    /// # Errors
    /// Where the journal cannot be read.
    pub async fn paused(&self) -> Result<Vec<PausedCall>, Error> {
        let ledger = &self.engine.inner.ledger;
        Ok(ledger.paused_in(self.session).await?)
    }

    /// The calls of this session that wait for a person or for a result from outside, as
    /// [`Session::long_running_tool_ids`](crate::session::Session::long_running_tool_ids) has them.
    ///
    /// # Errors
    /// Where the session has stopped.
    pub async fn long_running_tool_ids(&self) -> Result<Vec<CallId>, Error> {
        let session = self.session().await?;
        Ok(session.long_running_tool_ids())
    }

    /// Whether everything that is open in this session waits for somebody outside, as
    /// [`Session::should_pause`](crate::session::Session::should_pause) has it.
    ///
    /// # Errors
    /// Where the session has stopped.
    pub async fn should_pause(&self) -> Result<bool, Error> {
        Ok(self.session().await?.should_pause())
    }

    /// Answers a confirmation request of this session, as [`Engine::answer`] does. One of another
    /// session is unknown here, and stays open; that it was tried goes on record with it.
    ///
    /// # Errors
    /// As [`Engine::answer`].
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

    /// Gives the result of a paused call of this session, as [`Engine::respond`] does.
    ///
    /// # Errors
    /// As [`Engine::respond`]; [`Error::UnknownCall`] of a call of another session.
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

    /// Takes a call back; the model is told that it was cancelled.
    ///
    /// # Errors
    /// [`Error::Refused`] where the call ended before.
    pub async fn cancel(&self, call: Seq, reason: Option<String>, by: Actor) -> Result<Seq, Error> {
        self.ask(|reply| Input::Command(Command::CancelCall { call, reason, by }, reply))
            .await
    }

    /// Calls a function as a model would, and waits for what comes of it: a text pipeline's way to
    /// the same tools, policies and journal. No model hears of it.
    ///
    /// The result is the response as it stands on record: a result that is no object is under
    /// `output`. Of a streaming tool it is the array of all that it gave, as a dispatcher has it,
    /// each as it stands on record. Arguments may be a string that holds an object. Dropping the
    /// future leaves the call as it is; of its end the engine's
    /// [`on_settled`](crate::engine::EngineBuilder::on_settled) hears then, as it does where this
    /// process is gone.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use recount::prelude::*;
    /// let add = T::simple("add", "Adds", |args| async move {
    ///     Ok(json!(args["a"].as_i64().unwrap_or(0) + args["b"].as_i64().unwrap_or(0)))
    /// });
    /// let agent = Agent::new().model("none").tools(add);
    /// let engine = Engine::in_memory().agent("sums", agent).open().await?;
    /// let session = engine.session("sums").open().await?;
    /// let sum = session.call_function("add", json!({"a": 2, "b": 3}), Actor::embedder("pipeline")).await;
    /// assert_eq!(sum, Ok(json!({"output": 5})));
    /// # Ok::<(), recount::engine::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Why the call did not succeed, in the words that a model would hear.
    pub async fn call_function(
        &self,
        name: &str,
        args: Value,
        by: Actor,
    ) -> Result<Value, ToolError> {
        let refused = |error: Error| ToolError::NotAvailable(error.to_string());
        self.engine.expect_room().map_err(refused)?;
        let (caller, answer) = oneshot::channel();
        // What no model could send, such as nesting without end, no program may, either.
        let args = Json::parse(&args.to_string())
            .map_err(|problem| ToolError::InvalidArgs(format!("the arguments are {problem}")))?;
        let name = name.to_owned();
        let _ = self.task.inbox.send(Input::CallFunction {
            name,
            args,
            by,
            caller,
        });
        let stopped = |_| ToolError::Other(self.task.stopped(self.session).to_string());
        answer.await.map_err(stopped)?
    }

    /// The session as it is now.
    ///
    /// # Errors
    /// Where its task has stopped.
    pub async fn session(&self) -> Result<Session, Error> {
        let (reply, session) = oneshot::channel();
        let _ = self.task.inbox.send(Input::Session(reply));
        session.await.map_err(|_| self.task.stopped(self.session))
    }

    /// The state that the session's tools, hooks and phases share, as it is now: to read and to
    /// watch.
    ///
    /// What is written to it goes nowhere; [`change_state`](LiveHandle::change_state) is for that.
    ///
    /// # Errors
    /// Where the session's task has stopped.
    pub async fn state(&self) -> Result<State, Error> {
        let (reply, state) = oneshot::channel();
        let _ = self.task.inbox.send(Input::State(reply));
        state.await.map_err(|_| self.task.stopped(self.session))
    }

    /// Writes to the state: everything that `write` writes is one change on record. Returns its
    /// record.
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
    /// [`Error::Refused`] where nothing was written, a key or a value cannot be on record, or the
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
    /// [`Error::AlreadyConnected`], or what keeps the connection from being opened.
    pub async fn connect(&self) -> Result<(), Error> {
        self.ask(Input::Connect).await
    }

    /// Ends the connection and cancels what runs.
    ///
    /// # Errors
    /// An error of the journal if it cannot be written, or if its disk has no room.
    pub async fn disconnect(&self) -> Result<(), Error> {
        self.ask(Input::Disconnect).await
    }

    /// Ends the session: what is open in it is cancelled.
    ///
    /// # Errors
    /// [`Error::Refused`] where it is closed already.
    pub async fn close(&self, reason: &str, by: Actor) -> Result<Seq, Error> {
        let command = closes(reason, by);
        self.ask(|reply| Input::Command(command, reply)).await
    }

    async fn ask<T>(
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
        // Counted before any drop of this one, because both go through one queue.
        let _ = self.task.inbox.send(Input::HandleTaken);
        LiveHandle {
            session: self.session,
            engine: self.engine.clone(),
            task: self.task.clone(),
            hearing: self.hearing.clone(),
            is_taken: true,
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
