//! The part of a session's calls that a projection keeps.

use super::audited_call::AuditedCall;
use crate::session::{FunctionCallReceived, Outcome, Seq};

/// The calls that a projection keeps, so that the other ones take no memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// The call before the first one.
    after: Seq,
    /// The number of further calls.
    calls: usize,
    /// The bytes of further arguments. The first call always fits.
    bytes: usize,
    /// True once a call did not fit.
    is_full: bool,
}

impl Window {
    /// The window of all calls.
    pub(super) fn all() -> Window {
        Window::after(Seq(0), usize::MAX, usize::MAX)
    }

    /// The window of so many calls after one, with so many bytes of arguments.
    pub(super) fn after(after: Seq, calls: usize, bytes: usize) -> Window {
        Window {
            after,
            calls,
            bytes,
            is_full: false,
        }
    }

    /// True once a call did not fit, so that further calls follow the window.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// True if the projection keeps this call, which is the newest one.
    pub(super) fn takes(&mut self, seq: Seq, received: &FunctionCallReceived) -> bool {
        if seq <= self.after {
            return false;
        }
        self.is_full |= self.calls == 0 || self.bytes == 0;
        if self.is_full {
            return false;
        }
        let args = received.args.as_ref().map_or(0, |it| it.as_str().len());
        let malformed = received.malformed_args.as_ref();
        let text = malformed.map_or(0, |it| it.text.len());
        self.calls = self.calls.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(args + text);
        true
    }
}

/// True if no later record changes the row of this call.
///
/// A late answer to a request is recorded as refused, a run that was cut off may still report its
/// end, and an unknown outcome may be found.
pub(super) fn is_final(call: &AuditedCall) -> bool {
    let is_known = |outcome| match outcome {
        Outcome::Unknown | Outcome::TimedOut | Outcome::Interim => false,
        Outcome::Returned
        | Outcome::Failed
        | Outcome::Supplied
        | Outcome::Refused
        | Outcome::Denied
        | Outcome::Expired
        | Outcome::Cancelled
        | Outcome::Withdrawn => true,
    };
    call.ended.as_ref().is_some_and(|it| is_known(it.outcome))
        && call.questions.is_empty()
        && call.runs.iter().all(|run| run.ended_at.is_some())
}
