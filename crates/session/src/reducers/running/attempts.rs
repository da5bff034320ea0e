//! The attempts of calls: which of them runs, and how long it may.

use std::time::Duration;

use crate::calls::call::{Call, Phase};
use crate::state::session::Session;
use crate::values::id::Seq;

/// The call, if that attempt of it runs; what an older attempt reports is on record and changes
/// nothing.
pub(crate) fn running(session: &mut Session, call: Seq, reported: u32) -> Option<&mut Call> {
    session
        .calls
        .get_mut(&call)
        .filter(|call| matches!(call.phase, Phase::Running { attempt, .. } if attempt == reported))
}

/// How long a run of the tool may take: what its policy says, or else what holds for inline calls.
pub(crate) fn time_limit(session: &Session, name: &str) -> Option<Duration> {
    let policies = &session.terms.policies;
    let policy = policies.of(name);
    let declared = session.terms.catalog.tools.get(name);
    let inline = policy.background.is_none() && declared.is_some_and(|it| it.kind.is_inline());
    policy.timeout.or(policies.timeout.filter(|_| inline))
}
