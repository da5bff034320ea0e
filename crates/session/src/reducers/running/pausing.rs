//! The stop switch: pauses that hold calls before their start.
//!
//! ```text
//! paused ───▶ Ready, InDoubt with the rule `retry`, AwaitingCalls: no call_started
//! unpaused ─▶ as before, unless another pause holds the call
//! ```
//!
//! A pause holds starts and nothing else. Calls are received, judged, asked about, answered and
//! cancelled as ever, hooks are asked, requests expire, and running calls continue. The result of
//! an equal call may be reused, because nothing starts then. A time limit begins with the start, so
//! the wait does not consume it.

use crate::calls::call::Call;
use crate::record::pause::{Paused, Unpaused};
use crate::state::pauses::Pause;
use crate::state::session::Session;
use crate::values::id::Seq;

/// True if a pause holds this call.
pub(crate) fn holds_call(session: &Session, call: &Call) -> bool {
    let mut pauses = session.pauses.iter();
    pauses.any(|pause| session.is_covered(&pause.scope, call))
}

pub(crate) fn paused(session: &mut Session, seq: Seq, it: &Paused) {
    // A closed session starts nothing.
    if session.closed {
        return;
    }
    let pause = Pause {
        scope: it.scope.clone(),
        reason: it.reason.clone(),
        by: it.by.clone(),
        at: seq,
        since: session.at,
        journal_record: it.journal_record,
    };
    session.pauses.add(pause);
}

pub(crate) fn unpaused(session: &mut Session, it: &Unpaused) {
    session.pauses.remove(&it.scope);
}

#[cfg(test)]
#[path = "pausing_tests.rs"]
mod tests;
