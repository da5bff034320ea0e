//! What a tool is told about the call it serves.

use std::fmt;

use tokio_util::sync::CancellationToken;

use crate::session::{CallId, Json, SessionId};

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
#[derive(Clone)]
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
    /// The arguments as they came, every digit of them, with what is secret in clear; none where nobody kept the text.
    pub args: Option<Json>,
    /// The JSON Pointers of the arguments that no message may quote.
    pub(crate) secret: Vec<String>,
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
            args: None,
            secret: Vec::new(),
        }
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
    /// # use recount::session::{Json, Seq, SessionId};
    /// # use recount::tool::ToolContext;
    /// # let session = SessionId(uuid::Uuid::nil());
    /// let args = Json::parse(r#"{"amount": 18446744073709551616}"#)?;
    /// let context = ToolContext::new(session, session.call_id(Seq(7)), 1, "key-1").with_args(args);
    /// assert_eq!(context.args.unwrap().as_str(), r#"{"amount":18446744073709551616}"#);
    /// # Ok::<(), recount::session::JsonProblem>(())
    /// ```
    #[must_use]
    pub fn with_args(mut self, args: Json) -> Self {
        self.args = Some(args);
        self
    }

    /// Names the arguments that no message may quote.
    #[must_use]
    pub(crate) fn with_secret(mut self, pointers: Vec<String>) -> Self {
        self.secret = pointers;
        self
    }
}

/// Without the arguments, of which some may be secret.
impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext")
            .field("session", &self.session)
            .field("call", &self.call)
            .field("attempt", &self.attempt)
            .field("idempotency_key", &self.idempotency_key)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;
    use crate::session::Seq;

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
