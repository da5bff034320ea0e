//! The context of a tool run.

use std::fmt;
use std::sync::Arc;

use recount_session::{CallId, Json, Seq, SessionId, Timestamp};
use serde_json::Value;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use crate::run::error::ToolError;
use crate::run::input::InputEvent;
use crate::run::outcome::Ask;
use crate::run::services::Services;
use crate::run::state::State;
use crate::run::ticket::Ticket;
use crate::run::tool_event::{Emitter, LookBack, ToolEvent};
use recount_session::ToolConfirmation;

/// The context of one run of a tool, next to its arguments.
///
/// ```
/// use recount_session::{Seq, SessionId};
/// use recount_tool::ToolContext;
///
/// let session: SessionId = "0193a6e0-0000-7000-8000-000000000001".parse()?;
/// let context = ToolContext::new(session, session.call_id(Seq(7)), 2, "key-1");
/// assert_eq!(context.attempt, 2);
/// assert!(!context.cancellation.is_cancelled());
/// # Ok::<(), uuid::Error>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct ToolContext {
    /// The session of the call.
    pub session: SessionId,
    /// The number of this run of the call, from 1.
    pub attempt: u32,
    /// Fires when the result is no longer needed.
    pub cancellation: CancellationToken,
    /// The arguments as received, with every digit and with secrets in clear; `None` if the text
    /// was not kept.
    pub args: Option<Json>,
    /// The JSON Pointers of the arguments that no message may quote.
    pub(crate) secret: Vec<String>,
    /// The state shared by the tools, hooks and phases of the session.
    pub state: State,
    /// The services of the embedding program.
    pub services: Services,
    identity: Identity,
    ticket: Option<Ticket>,
    confirmation: Option<Arc<ToolConfirmation>>,
    /// The tool's own state, if it resumes after a question.
    resumption: Option<Arc<Value>>,
    emitter: Emitter,
    /// Weak, so that a tool which keeps its context does not keep the input open.
    input: Option<broadcast::WeakSender<InputEvent>>,
}

/// The source of a call's ids, which are computed only on demand.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub enum Identity {
    /// Ids chosen by the creator of the context.
    Given {
        /// The id of the call.
        call: CallId,
        /// The idempotency key of the call.
        idempotency_key: String,
    },
    /// Ids derived from the call.
    Of(Seq),
}

impl ToolContext {
    /// Creates the context of one attempt, with a cancellation token of its own.
    #[must_use]
    pub fn new(
        session: SessionId,
        call: CallId,
        attempt: u32,
        idempotency_key: impl Into<String>,
    ) -> Self {
        let (cancellation, state) = (CancellationToken::new(), State::default());
        let idempotency_key = idempotency_key.into();
        let identity = Identity::Given {
            call,
            idempotency_key,
        };
        Self::of_run(session, attempt, identity, cancellation, state)
    }

    #[doc(hidden)]
    pub fn of_run(
        session: SessionId,
        attempt: u32,
        identity: Identity,
        cancellation: CancellationToken,
        state: State,
    ) -> Self {
        Self {
            session,
            attempt,
            cancellation,
            args: None,
            secret: Vec::new(),
            state,
            services: Services::default(),
            identity,
            ticket: None,
            confirmation: None,
            resumption: None,
            emitter: Emitter::default(),
            input: None,
        }
    }

    /// Returns a key that all attempts of one call share and no other call has. Pass it to the
    /// service that the tool calls.
    ///
    /// ```
    /// use recount_session::{Seq, SessionId};
    /// use recount_tool::ToolContext;
    ///
    /// let session = SessionId(uuid::Uuid::nil());
    /// let context = ToolContext::new(session, session.call_id(Seq(7)), 1, "key-1");
    /// assert_eq!(context.idempotency_key(), "key-1");
    /// ```
    #[must_use]
    pub fn idempotency_key(&self) -> String {
        match &self.identity {
            Identity::Given {
                idempotency_key, ..
            } => idempotency_key.clone(),
            Identity::Of(call) => self.session.idempotency_key(*call).to_string(),
        }
    }

    /// Returns the call's own id, which unlike the model's id is unique.
    ///
    /// ```
    /// use recount_session::{Seq, SessionId};
    /// use recount_tool::ToolContext;
    ///
    /// let session = SessionId(uuid::Uuid::nil());
    /// let context = ToolContext::new(session, session.call_id(Seq(7)), 1, "key-1");
    /// assert_eq!(context.call_id(), session.call_id(Seq(7)));
    /// ```
    #[must_use]
    pub fn call_id(&self) -> CallId {
        match &self.identity {
            Identity::Given { call, .. } => *call,
            Identity::Of(call) => self.session.call_id(*call),
        }
    }

    /// Returns the ticket with which any part of the service can supply the call's result later.
    /// `None` outside an engine.
    ///
    /// ```
    /// # use recount_tool::{Pending, ToolContext, ToolError, ToolOutcome};
    /// fn hand_over(context: &ToolContext) -> Result<ToolOutcome, ToolError> {
    ///     let ticket = context
    ///         .ticket()
    ///         .ok_or_else(|| ToolError::Other("there is no engine".into()))?;
    ///     let text = serde_json::to_string(ticket)
    ///         .map_err(|error| ToolError::Other(error.to_string()))?;
    ///     // Queue `text` for the warehouse, which calls `engine.respond(&ticket, …)` at the end.
    ///     # drop(text);
    ///     Ok(Pending::new().into())
    /// }
    /// ```
    #[must_use]
    pub fn ticket(&self) -> Option<&Ticket> {
        self.ticket.as_ref()
    }

    /// Returns the approver's answer, or `None` for a call without confirmation request.
    ///
    /// ```
    /// use recount_tool::{ToolContext, ToolError};
    ///
    /// fn approved_days(context: &ToolContext) -> Result<u64, ToolError> {
    ///     let payload = context.confirmation().and_then(|it| it.payload.as_ref());
    ///     let days = payload.and_then(|it| it["approved_days"].as_u64());
    ///     days.ok_or_else(|| ToolError::Other("nobody said how many days".into()))
    /// }
    /// # let _ = approved_days;
    /// ```
    #[must_use]
    pub fn confirmation(&self) -> Option<&ToolConfirmation> {
        self.confirmation.as_deref()
    }

    /// Asks an approver and waits for the answer inside the run. A tool may ask several questions
    /// in sequence.
    ///
    /// The question is recorded before an approver sees it, and the answer before this returns. The
    /// approver sees the question like any other, and a provider is asked too. A denial and an
    /// expired question return `confirmed: false` with the reason, because only the tool knows its
    /// progress. A payload that does not fit is rejected, and the question stays open. The time
    /// limit of the call is paused meanwhile. The call keeps its run slot, and its session stays in
    /// memory. If the call is cancelled or the session closed, the tool is stopped.
    ///
    /// The wait ends with the process, with `LiveHandle::disconnect` and with the last handle of
    /// the session. Then the call is cut off like any other, even if its tool implements
    /// [`resume`](crate::ToolFunction::resume). The question's withdrawal is recorded, and the
    /// call's [in-doubt rule](recount_session::InDoubt) applies. A shutdown does not wait for an
    /// approver. For a wait that may be long, return an [`Ask`] instead, which survives restarts.
    /// An `Ask` may also be passed here, for its payload schema and its expiry; its state is not
    /// used. Dropping the future early does not withdraw the question; the end of the tool does.
    ///
    /// ```
    /// use recount_tool::{ToolContext, ToolError};
    /// use serde_json::{Value, json};
    ///
    /// async fn send(to: &str, context: &ToolContext) -> Result<Value, ToolError> {
    ///     // … write a draft, then:
    ///     let answer = context.request_confirmation(format!("Send it to {to}?")).await?;
    ///     if !answer.confirmed {
    ///         // … remove the draft, then:
    ///         return Ok(json!({"sent": false, "because": answer.reason}));
    ///     }
    ///     Ok(json!({"sent": true}))
    /// }
    /// # let _ = send;
    /// ```
    ///
    /// # Errors
    /// [`ToolError::NotAvailable`] if the call already waits for an answer, or if there is no one
    /// to ask, as in a [dispatcher](crate::ToolDispatcher) without a provider.
    /// [`ToolError::Cancelled`] if a dispatcher's provider gave no valid answer.
    pub async fn request_confirmation(
        &self,
        ask: impl Into<Ask>,
    ) -> Result<ToolConfirmation, ToolError> {
        self.emitter.ask(ask.into()).await
    }

    /// Returns the service of this type, if the agent has one.
    #[must_use]
    pub fn service<S: std::any::Any + Send + Sync>(&self) -> Option<Arc<S>> {
        self.services.get()
    }

    /// Emits an event for the embedding program; see [`ToolEvent`].
    ///
    /// # Errors
    /// The event does not serialize or cannot be recorded. [`ToolError::LimitReached`] if 1,024
    /// events of this run wait for the journal.
    pub fn emit<E: ToolEvent>(&self, event: &E) -> Result<(), ToolError> {
        self.emitter.emit(event)
    }

    /// Checks that this process may still begin a side effect of the call.
    ///
    /// In a journal that several processes write, a process has a lease on its sessions. One that
    /// was stopped past its lease must begin nothing, since another process has taken the session
    /// over. The engine checks this when it calls the tool. A tool that waits before its side
    /// effect, for a connection or a lock, checks again right before the side effect.
    ///
    /// ```
    /// use recount_tool::{ToolContext, ToolError};
    ///
    /// async fn pay(context: &ToolContext) -> Result<(), ToolError> {
    ///     // … connect to the bank, then:
    ///     context.check_start()?;
    ///     // … send the payment.
    ///     Ok(())
    /// }
    /// # let _ = pay;
    /// ```
    ///
    /// # Errors
    /// [`ToolError::Cancelled`]. The tool returns it; nothing of it is recorded.
    pub fn check_start(&self) -> Result<(), ToolError> {
        self.emitter.check_start()
    }

    /// Ends the session when the tool has returned.
    ///
    /// The model first receives the result, if it still can. Then `session_closed` is recorded with
    /// this reason, open calls are cancelled, and subscriptions of the handle (`LiveHandle`) end.
    /// The request is recorded with the result, so a crash in between does not lose it. It applies
    /// only if the tool returns, not if it fails, asks or pauses; the first reason counts.
    ///
    /// ```
    /// use recount_tool::{ToolContext, ToolError};
    /// use serde_json::{Value, json};
    ///
    /// async fn hang_up(_: Value, context: ToolContext) -> Result<Value, ToolError> {
    ///     context.end_session("everything was said")?;
    ///     Ok(json!({"goodbye": true}))
    /// }
    /// ```
    ///
    /// # Errors
    /// [`ToolError::NotAvailable`] if there is no session to end, as in a
    /// [dispatcher](crate::ToolDispatcher) without an engine.
    pub fn end_session(&self, reason: impl Into<String>) -> Result<(), ToolError> {
        self.emitter.end_session(reason.into())
    }

    /// Returns the status of the conversation and its last turns.
    pub(crate) async fn look_back(&self, turns: usize) -> Result<LookBack, ToolError> {
        self.emitter.look_back(turns).await
    }

    /// Reports progress of the run.
    ///
    /// Depending on the tool's policy, the time limit restarts and the model receives the reported
    /// value; see [`T::progress`](crate::T::progress). At most one report a second is recorded.
    /// Outside an engine this does nothing.
    ///
    /// ```
    /// use recount_tool::{ToolContext, ToolError};
    /// use serde_json::{Value, json};
    ///
    /// async fn import(files: &[String], context: &ToolContext) -> Result<Value, ToolError> {
    ///     for (at, _file) in files.iter().enumerate() {
    ///         // … import the file, then:
    ///         context.progress(json!({"progress": at + 1, "total": files.len()})).await;
    ///     }
    ///     Ok(json!({"imported": files.len()}))
    /// }
    /// # let _ = import;
    /// ```
    pub async fn progress(&self, said: Value) {
        self.emitter.progress(said).await;
    }

    /// Returns the current time if the call belongs to a session.
    pub(crate) fn now(&self) -> Option<Timestamp> {
        self.emitter.now()
    }

    /// Emits a recorded event like [`emit`](ToolContext::emit).
    #[doc(hidden)]
    pub fn emit_json(&self, name: &str, data: Json) -> Result<(), ToolError> {
        self.emitter.emit_json(name, data)
    }

    /// Sets the state.
    #[must_use]
    pub fn with_state(mut self, state: State) -> Self {
        self.state = state;
        self
    }

    /// Sets the services.
    #[must_use]
    pub fn with_services(mut self, services: Services) -> Self {
        self.services = services;
        self
    }

    #[doc(hidden)]
    pub fn with_ticket(mut self, ticket: Ticket) -> Self {
        self.ticket = Some(ticket);
        self
    }

    #[doc(hidden)]
    pub fn with_emitter(mut self, emitter: Emitter) -> Self {
        self.emitter = emitter;
        self
    }

    /// Sets the approver's answer.
    #[must_use]
    pub fn with_confirmation(mut self, confirmation: ToolConfirmation) -> Self {
        self.confirmation = Some(Arc::new(confirmation));
        self
    }

    /// Makes the run resume from this state, with the approver's answer.
    #[doc(hidden)]
    pub fn resuming(mut self, state: Value) -> Self {
        self.resumption = Some(Arc::new(state));
        self
    }

    /// Returns the state and the answer with which the tool resumes, if it has asked.
    pub(crate) fn resumption(&self) -> Option<(Value, ToolConfirmation)> {
        let (state, answer) = (self.resumption.as_deref()?, self.confirmation.as_deref()?);
        Some((state.clone(), answer.clone()))
    }

    /// Replaces the cancellation token.
    #[must_use]
    pub fn with_cancellation(mut self, token: CancellationToken) -> Self {
        self.cancellation = token;
        self
    }

    /// Sets the received text of the arguments, for a tool that needs every digit of a number.
    ///
    /// ```
    /// # use recount_session::{Json, Seq, SessionId};
    /// # use recount_tool::ToolContext;
    /// # let session = SessionId(uuid::Uuid::nil());
    /// let args = Json::parse(r#"{"amount": 18446744073709551616}"#)?;
    /// let context =
    ///     ToolContext::new(session, session.call_id(Seq(7)), 1, "key-1").with_args(args);
    /// assert_eq!(context.args.unwrap().as_str(), r#"{"amount":18446744073709551616}"#);
    /// # Ok::<(), recount_session::JsonProblem>(())
    /// ```
    #[must_use]
    pub fn with_args(mut self, args: Json) -> Self {
        self.args = Some(args);
        self
    }

    /// Sets the arguments that no message may quote.
    #[must_use]
    #[doc(hidden)]
    pub fn with_secret(mut self, pointers: Vec<String>) -> Self {
        self.secret = pointers;
        self
    }

    /// Sets the live input of the session. The input ends when the sender is dropped, even while
    /// contexts are kept.
    #[must_use]
    pub fn with_input(mut self, input: &broadcast::Sender<InputEvent>) -> Self {
        self.input = Some(input.downgrade());
        self
    }

    /// Subscribes to the user's live input from now on. Without live input the receiver is closed
    /// at once.
    ///
    /// A receiver that falls behind gets an error with the number of lost events, and then
    /// continues. An [`InputStreamingTool`](crate::InputStreamingTool) receives that number as an
    /// event instead.
    ///
    /// ```
    /// use recount_session::{Seq, SessionId};
    /// use recount_tool::{InputEvent, ToolContext};
    /// use tokio::sync::broadcast::{self, error::TryRecvError};
    ///
    /// let session = SessionId(uuid::Uuid::nil());
    /// let context = ToolContext::new(session, session.call_id(Seq(1)), 1, "key-1");
    /// assert_eq!(context.input().try_recv(), Err(TryRecvError::Closed));
    ///
    /// let (sender, _) = broadcast::channel(16);
    /// let context = context.with_input(&sender);
    /// let mut input = context.input();
    /// sender.send(InputEvent::ActivityStart)?;
    /// drop(sender);
    /// assert_eq!(input.try_recv(), Ok(InputEvent::ActivityStart));
    /// assert_eq!(input.try_recv(), Err(TryRecvError::Closed));
    /// # Ok::<(), broadcast::error::SendError<InputEvent>>(())
    /// ```
    #[must_use]
    pub fn input(&self) -> broadcast::Receiver<InputEvent> {
        let sender = self.input.as_ref().and_then(broadcast::WeakSender::upgrade);
        sender.map_or_else(|| broadcast::channel(1).1, |sender| sender.subscribe())
    }
}

/// Omits the arguments, which may be secret.
impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext")
            .field("session", &self.session)
            .field("call", &self.call_id())
            .field("attempt", &self.attempt)
            .field("idempotency_key", &self.idempotency_key())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;
    use recount_session::Seq;

    #[test]
    fn debug_does_not_show_arguments() {
        let session = SessionId(uuid::Uuid::nil());
        let context = ToolContext::new(session, session.call_id(Seq(1)), 1, "key-1")
            .with_args(Json::parse(r#"{"pin":"4711"}"#).unwrap());
        let shown = format!("{context:?}");
        assert!(
            shown.contains("key-1") && !shown.contains("4711"),
            "{shown}"
        );
    }
}
