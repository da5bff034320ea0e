//! What a tool is told about the call it serves.

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// What a tool is told about the call it serves, beside its arguments.
///
/// ```
/// use recount::tool::ToolContext;
///
/// let context = ToolContext::new(uuid::Uuid::nil(), "call-1", 2, "key-1");
/// assert_eq!((context.call.as_str(), context.attempt), ("call-1", 2));
/// assert!(!context.cancellation.is_cancelled());
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolContext {
    /// The session the call belongs to.
    pub session: Uuid,
    /// The call's own id, unlike the model's never used twice.
    pub call: String,
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
        session: Uuid,
        call: impl Into<String>,
        attempt: u32,
        idempotency_key: impl Into<String>,
    ) -> Self {
        Self {
            session,
            call: call.into(),
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
