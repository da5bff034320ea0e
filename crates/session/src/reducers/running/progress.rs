//! Runs that report progress: where their policy says so, their time limit starts again.

use super::attempts::time_limit;
use crate::calls::call::Phase;
use crate::state::session::Session;
use crate::values::id::Seq;

/// The run of a call has shown that it goes on: where its policy says so, its time limit starts
/// again.
pub(crate) fn shown(session: &mut Session, call: Seq, attempt: u32, by: Option<Seq>) {
    let now = session.at;
    let Some(about) = session.calls.get(&call) else {
        return;
    };
    let policy = session.terms.policies.of(&about.name);
    if policy.progress.is_none() || about.agent.is_some() {
        return;
    }
    let Some(limit) = time_limit(session, &about.name) else {
        return;
    };
    if let Some(about) = session.calls.get_mut(&call)
        && let Phase::Running {
            attempt: running,
            runner,
            deadline: Some(due),
            ..
        } = &mut about.phase
        && *running == attempt
        && by.is_none_or(|by| by == *runner)
    {
        *due = now.after(limit).max(*due);
    }
}

#[cfg(test)]
#[path = "progress_tests.rs"]
mod tests;
