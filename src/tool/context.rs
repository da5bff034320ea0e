//! What a tool is told about the call it serves.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{Emitter, Services, State, Ticket, ToolError, ToolEvent};
use crate::session::{CallId, SessionId};

/// What a tool is told about the call it serves, beside its arguments.
///
/// ```
/// use recount::session::{Seq, SessionId};
/// use recount::tool::ToolContext;
///
/// let session: SessionId = "0193a6e0-0000-7000-8000-000000000001".parse()?;
/// let context = ToolContext::new(session, session.call_id(Seq(7)), 2, "key-1");
/// assert_eq!(context.attempt, 2);
/// assert!(!context.cancellation.is_cancelled());
/// # Ok::<(), uuid::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolContext {
    /// The session the call belongs to.
    pub session: SessionId,
    /// The call's own id, unlike the model's never used twice.
    pub call: CallId,
    /// Which run of the call this is, counted from 1.
    pub attempt: u32,
    /// The same for every attempt of one call and for no other call: hand it to the service the tool acts on.
    pub idempotency_key: String,
    /// Fires when nobody waits for the result any more.
    pub cancellation: CancellationToken,
    /// What the tools, hooks and phases of the session know in common.
    pub state: State,
    /// What the embedding program hands its tools.
    pub services: Services,
    ticket: Option<Ticket>,
    emitter: Emitter,
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
        Self {
            session,
            call,
            attempt,
            idempotency_key: idempotency_key.into(),
            cancellation: CancellationToken::new(),
            state: State::default(),
            services: Services::default(),
            ticket: None,
            emitter: Emitter::default(),
        }
    }

    /// By what any part of the service can give the call's result later, if the tool pauses; none outside an engine.
    ///
    /// ```
    /// # use recount::tool::{Pending, ToolContext, ToolError, ToolOutcome};
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

    /// A service of this type, if the agent has one.
    #[must_use]
    pub fn service<S: std::any::Any + Send + Sync>(&self) -> Option<Arc<S>> {
        self.services.get()
    }

    /// Tells the embedding program something; see [`ToolEvent`].
    ///
    /// # Errors
    /// Where the event does not serialise.
    pub fn emit<E: ToolEvent>(&self, event: &E) -> Result<(), ToolError> {
        let unwritable =
            |error| ToolError::ExecutionFailed(format!("event {:?}: {error}", E::NAME));
        self.emitter.emit(event).map_err(unwritable)
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

    pub(crate) fn with_ticket(mut self, ticket: Ticket) -> Self {
        self.ticket = Some(ticket);
        self
    }

    pub(crate) fn with_emitter(mut self, emitter: Emitter) -> Self {
        self.emitter = emitter;
        self
    }

    /// Replaces the cancellation token.
    #[must_use]
    pub fn with_cancellation(mut self, token: CancellationToken) -> Self {
        self.cancellation = token;
        self
    }
}
