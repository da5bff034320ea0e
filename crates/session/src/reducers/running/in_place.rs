//! Tools that ask a question and wait for the answer inside their run.
//!
//! ```text
//! Running ─ tool_asked ─▶ Asking ─▶ AwaitingConfirmation
//!   ├─ answered, yes or no ─▶ Running
//!   ├─ expired ─────────────▶ Running
//!   ├─ the run reports ─────▶ request withdrawn, then as reported
//!   ├─ the runner is gone ──▶ request withdrawn, then InDoubt
//!   └─ cancelled ───────────▶ Withdrawn
//! ```
//!
//! It is one run from start to end. It keeps its slot, so that it need not queue to continue, and
//! its attempt stays owed. Its time limit pauses and continues with what was left. A no does not
//! end the run, because only the tool knows what it has done so far. If the process is gone, the
//! call is in doubt. The tool's progress is lost with the process, so neither the question nor an
//! answer is of use.

use super::attempts;
use crate::calls::call::{Asked, Call, InPlace, Phase};
use crate::record::decision::{CancelReason, ConfirmationWithdrawn, Decision};
use crate::record::observation::ToolAsked;
use crate::state::session::Session;
use crate::values::id::Seq;
use crate::values::time::Timestamp;

pub(crate) fn asked(session: &mut Session, at: Seq, it: &ToolAsked) {
    let now = session.at;
    let asking = session.calls.get(&it.call);
    let is_declared = asking.is_some_and(|it| session.terms.catalog.get(&it.name).is_some());
    if !is_declared {
        // A request names the contract of the tool, which went while it ran. The run goes on.
        return;
    }
    let Some(call) = reporting(session, it.call, it.attempt) else {
        return;
    };
    let Phase::Running {
        attempt,
        runner,
        deadline,
        leave,
        out_of_doubt,
    } = call.phase
    else {
        return;
    };
    let in_place = Some(Box::new(InPlace {
        question: Asked::of(at, it),
        attempt,
        runner,
        leave,
        out_of_doubt,
        time_left_us: deadline.map(|due| due.0.saturating_sub(now.0).max(0)),
    }));
    call.phase = Phase::Asking { in_place };
}

/// Resumes a run that waits, with or without an answer. Returns false if it does not wait.
pub(crate) fn resume(call: &mut Call, now: Timestamp) -> bool {
    let Some(waiting) = call.take_in_place() else {
        return false;
    };
    let due = |left: i64| Timestamp(now.0.saturating_add(left));
    call.phase = Phase::Running {
        attempt: waiting.attempt,
        runner: waiting.runner,
        deadline: waiting.time_left_us.map(due),
        leave: waiting.leave,
        out_of_doubt: waiting.out_of_doubt,
    };
    true
}

/// Returns the call, if this attempt of it runs and reports something.
///
/// A run that waits for an answer resumes without it, and its request becomes pointless.
pub(crate) fn reporting(session: &mut Session, call: Seq, reported: u32) -> Option<&mut Call> {
    let now = session.at;
    if let Some(waits) = session.calls.get_mut(&call)
        && waits.run().is_some_and(|(attempt, _)| attempt == reported)
    {
        let request = open_request(waits);
        if resume(waits, now) {
            waits.moot = request.map(|request| (request, CancelReason::ToolEnded));
        }
    }
    attempts::running(session, call, reported)
}

/// The first rules under which a changed contract does not replace the question of a run that waits
/// for the answer. Earlier rules replaced it, so that the run never got an answer.
const RULES_OF_KEPT_QUESTIONS: u32 = 2;

/// True if the question of the call stays whatever becomes of its tool.
pub(crate) fn keeps_question(session: &Session, call: &Call) -> bool {
    call.in_place().is_some() && session.rules >= RULES_OF_KEPT_QUESTIONS
}

/// Puts a waiting run in doubt, because its process is gone.
pub(crate) fn cut_off(call: &mut Call) {
    let request = open_request(call);
    if let Some(waiting) = call.take_in_place() {
        call.moot = request.map(|request| (request, CancelReason::RunnerGone));
        call.phase = Phase::InDoubt {
            leave: waiting.leave,
        };
    }
}

/// Withdraws a request that has become pointless.
pub(crate) fn withdraw_moot(call: Seq, about: &Call) -> Option<Decision> {
    let (request, reason) = about.moot?;
    let withdrawn = ConfirmationWithdrawn {
        call,
        request,
        reason,
    };
    Some(withdrawn.into())
}

fn open_request(call: &Call) -> Option<Seq> {
    if let Phase::AwaitingConfirmation { request, .. } = call.phase {
        Some(request)
    } else {
        None
    }
}

#[cfg(test)]
#[path = "in_place_tests.rs"]
mod tests;
