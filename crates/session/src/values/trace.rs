//! Ids of traces and spans, as OpenTelemetry and W3C Trace Context define them.
//!
//! They follow from the session and the seq of a record alone. So the spans of a running process,
//! its log lines, and an export after the fact name the same ids.

use std::fmt;

use sha2::{Digest, Sha256};

use super::id::{Seq, SessionId};

/// The id of a session's trace: the 16 bytes of the session id.
///
/// It is displayed as 32 lower-case hex digits: the session id without its hyphens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TraceId(pub [u8; 16]);

/// The id of a span within a session's trace. It is displayed as 16 lower-case hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpanId(pub [u8; 8]);

/// The subject of a span, with the record that identifies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SpanOf {
    /// The session, from its opening to its close.
    Session,
    /// A connection to the model, by its `connected`.
    Connection(Seq),
    /// A call, by its `function_call_received`.
    Call(Seq),
    /// A run of a call's tool, by its `call_started`.
    Run(Seq),
    /// The wait for the answer to a confirmation request, by the request's record.
    Request(Seq),
    /// The wait for the outcome of a call that ended with an unknown one, by its `outcome_found`.
    Outcome(Seq),
}

impl SessionId {
    /// Returns the id of the session's trace.
    ///
    /// ```
    /// use recount_session::SessionId;
    /// let session: SessionId = "01890a5d-ac96-774b-bcce-b302099a8057".parse()?;
    /// assert_eq!(session.trace_id().to_string(), "01890a5dac96774bbcceb302099a8057");
    /// # Ok::<(), uuid::Error>(())
    /// ```
    pub fn trace_id(self) -> TraceId {
        TraceId(*self.0.as_bytes())
    }

    /// Returns the id of a span in the session's trace.
    ///
    /// It is the beginning of the SHA-256 of the session id and of a text such as `call:5`.
    ///
    /// ```
    /// use recount_session::{Seq, SessionId, SpanOf};
    /// let session: SessionId = "01890a5d-ac96-774b-bcce-b302099a8057".parse()?;
    /// let call = session.span_id(SpanOf::Call(Seq(5)));
    /// assert_eq!(call.to_string(), "10aea97a49cf505f");
    /// assert_ne!(call, session.span_id(SpanOf::Run(Seq(5))));
    /// # Ok::<(), uuid::Error>(())
    /// ```
    pub fn span_id(self, of: SpanOf) -> SpanId {
        let mut digest = Sha256::new_with_prefix(self.0.as_bytes());
        digest.update(of.to_string());
        let [a, b, c, d, e, f, g, h, ..] = <[u8; 32]>::from(digest.finalize());
        let id = [a, b, c, d, e, f, g, h];
        // An id of zeros means no span.
        SpanId(if id == [0; 8] { [1; 8] } else { id })
    }
}

impl fmt::Display for SpanOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpanOf::Session => f.write_str("session"),
            SpanOf::Connection(seq) => write!(f, "connection:{seq}"),
            SpanOf::Call(seq) => write!(f, "call:{seq}"),
            SpanOf::Run(seq) => write!(f, "run:{seq}"),
            SpanOf::Request(seq) => write!(f, "request:{seq}"),
            SpanOf::Outcome(seq) => write!(f, "outcome:{seq}"),
        }
    }
}

/// Implements `Display` as lower-case hex digits.
macro_rules! shown_as_hex {
    ($($name:ident),+) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }
    )+};
}

shown_as_hex!(TraceId, SpanId);
