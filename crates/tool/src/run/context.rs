//! What a tool is told about the call it serves.

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

/// What a tool is told about the call it serves, beside its arguments.
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
    /// The session the call belongs to.
    pub session: SessionId,
    /// Which run of the call this is, counted from 1.
    pub attempt: u32,
    /// Fires when nobody waits for the result any more.
    pub cancellation: CancellationToken,
    /// The arguments as they came, every digit of them, with what is secret in clear; none where
    /// nobody kept the text.
    pub args: Option<Json>,
    /// The JSON Pointers of the arguments that no message may quote.
    pub(crate) secret: Vec<String>,
    /// What the tools, hooks and phases of the session know in common.
    pub state: State,
    /// What the embedding program hands its tools.
    pub services: Services,
    identity: Identity,
    ticket: Option<Ticket>,
    confirmation: Option<Arc<ToolConfirmation>>,
    /// What its tool wants to know again, where it goes on after a question.
    resumption: Option<Arc<Value>>,
    emitter: Emitter,
    /// Weak, so that a tool which keeps its context does not keep the input open.
    input: Option<broadcast::WeakSender<InputEvent>>,
}

/// Where the names of a call come from; most tools never ask for them.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub enum Identity {
    /// Whoever made the context chose them.
    Given {
        /// The call.
        call: CallId,
        /// The key that is the same in every attempt of it.
        idempotency_key: String,
    },
    /// They are derived from the call.
    Of(Seq),
}

impl ToolContext {
    /// The context of one attempt, with a cancellation token of its own.
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

    /// The same for every attempt of one call and for no other call: hand it to the service the
    /// tool acts on.
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

    /// The call's own id, unlike the model's never used twice.
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

    /// By what any part of the service can give the call's result later, if the tool pauses; none
    /// outside an engine.
    ///
    /// ```
    /// # use recount_tool::{Pending, ToolContext, ToolError, ToolOutcome};
    /// fn hand_over(context: &ToolContext) -> Result<ToolOutcome, ToolError> {
    ///     let ticket = context.ticket().ok_or_else(|| ToolError::Other("there is no engine".into()))?;
    ///     let text = serde_json::to_string(ticket).map_err(|error| ToolError::Other(error.to_string()))?;
    ///     // queue `text` for the warehouse, which calls `engine.respond(&ticket, …)` when it is done; then:
    ///     # drop(text);
    ///     Ok(Pending::new().into())
    /// }
    /// ```
    #[must_use]
    pub fn ticket(&self) -> Option<&Ticket> {
        self.ticket.as_ref()
    }

    /// What the person said who agreed to the call; none of a call for which nobody was asked.
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

    /// Asks a person, and waits for the answer where the tool stands; as often as it must, one
    /// question after another.
    ///
    /// The question is on record before anybody is asked, and the answer before this returns; the
    /// approver sees it as any other, and a provider is asked, too. A no, and silence beyond the
    /// expiry, come back as `confirmed: false` with the reason, because only the tool knows what it
    /// has done so far; a payload that does not fit is refused, and the question stays open. The
    /// time limit of the call rests meanwhile. The call keeps its places among those that may run;
    /// its session stays in memory. Where the call is taken back, or the session closed, the tool
    /// is stopped.
    ///
    /// It waits as long as its process lives and nobody hangs up: where the process ends, or the
    /// session is disconnected (`LiveHandle::disconnect`) or its last handle dropped, before the
    /// answer or after it, the call was cut off like any other, whether or not its tool implements
    /// [`resume`](crate::ToolFunction::resume): its question is withdrawn on record, and its
    /// [in-doubt rule](recount_session::InDoubt) holds. A shutdown does not wait for a person. What
    /// may take long returns an [`Ask`] instead, and goes on after any number of restarts. An `Ask`
    /// may be given here, too, for its payload schema and its expiry; its state is not used.
    /// Dropping the future before it is ready does not take the question back: that happens when
    /// the tool ends.
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
    /// [`ToolError::NotAvailable`] where nobody can be asked, as in a
    /// [dispatcher](crate::ToolDispatcher) without a provider, or where the call waits for an
    /// answer already; [`ToolError::Cancelled`] where a dispatcher's provider gave none that
    /// counts.
    pub async fn request_confirmation(
        &self,
        ask: impl Into<Ask>,
    ) -> Result<ToolConfirmation, ToolError> {
        self.emitter.ask(ask.into()).await
    }

    /// A service of this type, if the agent has one.
    #[must_use]
    pub fn service<S: std::any::Any + Send + Sync>(&self) -> Option<Arc<S>> {
        self.services.get()
    }

    /// Tells the embedding program something; see [`ToolEvent`].
    ///
    /// # Errors
    /// An error if the event does not serialise or cannot be on record; [`ToolError::LimitReached`]
    /// where 1,024 events of this run wait for the journal.
    pub fn emit<E: ToolEvent>(&self, event: &E) -> Result<(), ToolError> {
        self.emitter.emit(event)
    }

    /// Ends the session when the tool has returned: the model is sent the result first, as far as
    /// it still can be, then `session_closed` is on record with this reason, what is open is
    /// cancelled, and whoever follows the handle (`LiveHandle`) hears no more.
    ///
    /// The wish is on record with the result, so a crash in between does not lose it. It counts
    /// where the tool returns, and not where it fails, asks or pauses; the first reason counts.
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
    /// [`ToolError::NotAvailable`] where there is no session to end, as in a
    /// [dispatcher](crate::ToolDispatcher) alone.
    pub fn end_session(&self, reason: impl Into<String>) -> Result<(), ToolError> {
        self.emitter.end_session(reason.into())
    }

    /// How the conversation stands, and its last turns.
    pub(crate) async fn look_back(&self, turns: usize) -> Result<LookBack, ToolError> {
        self.emitter.look_back(turns).await
    }

    /// Reports that the run has come further. Where the tool's policy says so, its time limit
    /// starts again, and the model is told what is said here; see
    /// [`T::progress`](crate::T::progress). At most one report a second goes on record. Outside an
    /// engine this changes nothing.
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

    /// The time of now, where the call belongs to a session.
    pub(crate) fn now(&self) -> Option<Timestamp> {
        self.emitter.now()
    }

    /// As [`emit`](ToolContext::emit), of an event that is on record.
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

    /// Sets what the person said who agreed to the call.
    #[must_use]
    pub fn with_confirmation(mut self, confirmation: ToolConfirmation) -> Self {
        self.confirmation = Some(Arc::new(confirmation));
        self
    }

    /// Makes the run go on from this state, with what the person said.
    #[doc(hidden)]
    pub fn resuming(mut self, state: Value) -> Self {
        self.resumption = Some(Arc::new(state));
        self
    }

    /// The state and the answer with which the tool goes on, where it has asked.
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

    /// Adds the arguments as they came, for a tool that wants every digit of a number.
    ///
    /// ```
    /// # use recount_session::{Json, Seq, SessionId};
    /// # use recount_tool::ToolContext;
    /// # let session = SessionId(uuid::Uuid::nil());
    /// let args = Json::parse(r#"{"amount": 18446744073709551616}"#)?;
    /// let context = ToolContext::new(session, session.call_id(Seq(7)), 1, "key-1").with_args(args);
    /// assert_eq!(context.args.unwrap().as_str(), r#"{"amount":18446744073709551616}"#);
    /// # Ok::<(), recount_session::JsonProblem>(())
    /// ```
    #[must_use]
    pub fn with_args(mut self, args: Json) -> Self {
        self.args = Some(args);
        self
    }

    /// Names the arguments that no message may quote.
    #[must_use]
    #[doc(hidden)]
    pub fn with_secret(mut self, pointers: Vec<String>) -> Self {
        self.secret = pointers;
        self
    }

    /// Sets the live input of the session; it ends when the sender is dropped, whoever still has
    /// the context.
    #[must_use]
    pub fn with_input(mut self, input: &broadcast::Sender<InputEvent>) -> Self {
        self.input = Some(input.downgrade());
        self
    }

    /// Subscribes to what the user says and does from now on; without live input the receiver is
    /// closed at once.
    ///
    /// A receiver that falls behind gets an error with the number of events it has lost, and goes
    /// on after it. An [`InputStreamingTool`](crate::InputStreamingTool) gets them as an event
    /// instead.
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

/// Without the arguments, of which some may be secret.
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
