//! The limits of calls per tool, counted by recorded time so that a restart forgets nothing.
//!
//! A call counts when the policies let it through, because whether it will run is not known yet. So
//! it counts even if a person denies it later, or if it waits for an equal call and takes its
//! result. Calls from before a limit per minute was declared do not count towards it. A limit per
//! session counts all calls.

use serde::Serialize;

use crate::policies::policy::Limits;
use crate::state::session::Session;
use crate::values::id::Seq;

/// The number of calls of a limited tool, as a verdict records it.
///
/// ```json
/// {"session":7,"minute":3}
/// ```
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Used {
    session: u32,
    minute: u32,
}

/// The number of calls of a tool, if the tool is limited.
pub(crate) fn used(session: &Session, tool: &str) -> Option<Used> {
    if session.terms.policies.of(tool).limits == Limits::default() {
        return None;
    }
    let uses = session.uses.get(tool);
    let since = session.at.before_ms(MINUTE_MS);
    // Time never runs backwards in a session, so the times are sorted.
    let minute = uses.map_or(0, |uses| {
        uses.recent.len() - uses.recent.partition_point(|at| *at <= since)
    });
    Some(Used {
        session: uses.map_or(0, |uses| uses.total),
        minute: u32::try_from(minute).unwrap_or(u32::MAX),
    })
}

/// The reason for a refusal, if one more call would exceed a limit of the tool.
pub(crate) fn reached(session: &Session, tool: &str) -> Option<String> {
    let limits = session.terms.policies.of(tool).limits;
    let used = used(session, tool)?;
    if let Some(max) = limits.per_session.filter(|max| used.session >= *max) {
        return Some(format!(
            "{tool:?} may be called {max} times in a session, and was"
        ));
    }
    let max = limits.per_minute.filter(|max| used.minute >= *max)?;
    Some(format!(
        "{tool:?} may be called {max} times in a minute, and was"
    ))
}

/// The reason for refusing a call beyond the `max` calls that one message may contain.
pub(crate) fn beyond_message(max: u32) -> String {
    format!("one message may bring {max} calls, and this one came beyond them; it did not run")
}

/// The reason for a refusal, if `older` open calls reach the limit of open calls.
pub(crate) fn open_reached(session: &Session, older: usize) -> Option<String> {
    let max = session.terms.policies.open_calls_max?;
    let reached = u32::try_from(older).unwrap_or(u32::MAX) >= max;
    let reason = || format!("{max} calls may be open at the same time, and are; it did not run");
    reached.then(reason)
}

/// Counts one call that was let through.
pub(crate) fn count(session: &mut Session, call: Seq) {
    let Some(call) = session.calls.get(&call) else {
        return;
    };
    let kept = session.terms.policies.of(&call.name).limits.per_minute;
    let uses = match session.uses.get_mut(&call.name) {
        Some(uses) => uses,
        None => session.uses.entry(call.name.clone()).or_default(),
    };
    uses.total = uses.total.saturating_add(1);
    if let Some(kept) = kept {
        uses.recent.push_back(session.at);
        while u32::try_from(uses.recent.len()).is_ok_and(|len| len > kept) {
            uses.recent.pop_front();
        }
    }
}

const MINUTE_MS: u64 = 60_000;

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
