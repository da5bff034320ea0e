//! The attempts of calls: the running one, and its time limit.

use std::time::Duration;

use crate::calls::call::{Call, Phase};
use crate::state::session::Session;
use crate::values::id::Seq;

/// Returns the call, if this attempt of it runs.
///
/// Reports of an older attempt are recorded but change nothing.
pub(crate) fn running(session: &mut Session, call: Seq, reported: u32) -> Option<&mut Call> {
    session
        .calls
        .get_mut(&call)
        .filter(|call| matches!(call.phase, Phase::Running { attempt, .. } if attempt == reported))
}

/// The time limit of a run: that of the tool's policy, or else that of inline calls.
pub(crate) fn time_limit(session: &Session, name: &str) -> Option<Duration> {
    let policies = &session.terms.policies;
    let policy = policies.of(name);
    let declared = session.terms.catalog.tools.get(name);
    let inline = policy.background.is_none() && declared.is_some_and(|it| it.kind.is_inline());
    policy.timeout.or(policies.timeout.filter(|_| inline))
}
