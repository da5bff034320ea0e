//! What a tool is told about the call it serves.

use tokio_util::sync::CancellationToken;

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
        }
    }

    /// Replaces the cancellation token.
    #[must_use]
    pub fn with_cancellation(mut self, token: CancellationToken) -> Self {
        self.cancellation = token;
        self
    }
}
