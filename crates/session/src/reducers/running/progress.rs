//! Progress reports of runs. They restart the time limit, if the tool's policy says so.

use super::attempts::time_limit;
use crate::calls::call::Phase;
use crate::state::session::Session;
use crate::values::id::Seq;

/// Restarts the time limit of a run that has reported progress, if the tool's policy says so.
pub(crate) fn reported(session: &mut Session, call: Seq, attempt: u32, by: Option<Seq>) {
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
