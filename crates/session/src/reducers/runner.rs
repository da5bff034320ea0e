//! The runner of a session: it attaches, detaches, and takes back starts.
//!
//! Another runner puts running calls in doubt. A start whose tool had not begun is taken back, so
//! the call is as before it.

use super::asking::hooks;
use super::earlier::cache;
use super::running::attempts::running;
use super::running::{agents, in_place, pausing};
use super::terms;
use crate::calls::call::Phase;
use crate::record::observation::{Paused, RunnerAttached, RunnerDetached, Start};
use crate::state::session::{Runner, Session};
use crate::values::id::Seq;

pub(crate) fn attached(session: &mut Session, seq: Seq, it: &RunnerAttached) {
    terms::attached(session, it);
    if it.goes_on && session.runner.is_some() {
        return;
    }
    session.runner = Some(Runner { seq });
    session.draining = false;
    session.reconnecting = false;
    put_running_in_doubt(session);
}

pub(crate) fn detached(session: &mut Session, it: &RunnerDetached) {
    session.runner = None;
    session.draining = false;
    session.reconnecting = false;
    it.not_begun.iter().for_each(|it| not_begun(session, *it));
    put_running_in_doubt(session);
}

/// Folds a pause, which takes back the starts whose tool had not begun.
pub(crate) fn paused(session: &mut Session, seq: Seq, it: &Paused) {
    pausing::paused(session, seq, it);
    it.not_begun.iter().for_each(|it| not_begun(session, *it));
}

/// Returns the call to its phase before that start, which may be `InDoubt` after an earlier start.
fn not_begun(session: &mut Session, it: Start) {
    let Some(call) = running(session, it.call, it.attempt) else {
        return;
    };
    if call.held_claim().is_some() {
        return;
    }
    let Phase::Running {
        leave,
        out_of_doubt,
        ..
    } = call.phase
    else {
        return;
    };
    call.attempts = it.attempt.saturating_sub(1);
    if call.agent.is_some() {
        agents::await_calls(call, 0);
    } else if out_of_doubt {
        call.phase = Phase::InDoubt { leave };
    } else {
        call.phase = Phase::Ready { leave };
    }
    let key = call.cache_key;
    cache::stopped(session, it.call, key);
}

fn put_running_in_doubt(session: &mut Session) {
    for call in session.calls.values_mut() {
        if call.held_claim().is_some() {
            continue;
        }
        if call.agent.is_some() {
            agents::await_calls(call, 0);
        } else if let Phase::Running { leave, .. } = call.phase {
            call.phase = Phase::InDoubt { leave };
        } else if call.phase == Phase::AwaitingHook {
            call.phase = hooks::cut_off(&session.terms.policies, call);
        }
        in_place::cut_off(call);
    }
}
