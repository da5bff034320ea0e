//! New terms for the calls of a session: the declarations and policies that a record names.
//!
//! ```text
//! runner_attached ─▶ new terms, another runner ─▶ running calls are in doubt
//! runner_attached{goes_on} ─▶ new terms
//! catalog_changed ─▶ new terms
//! ```
//!
//! New terms put no call in doubt. A running call keeps its attempt, also if its tool is gone. A
//! call that is about to start is compared with the new terms: its contract and its gate.

use super::asking::hooks;
use super::earlier::cache;
use super::telling::phases;
use crate::record::observation::CatalogChanged;
use crate::record::observation::RunnerAttached;
use crate::state::session::Session;
use crate::state::terms::Terms;

/// Takes over the terms of a runner.
pub(crate) fn attached(session: &mut Session, it: &RunnerAttached) {
    session.take_terms(&it.catalog, &it.policies, it.gates.clone(), it.rules);
    taken(session);
}

/// Takes over a changed catalog. Without a runner it changes nothing, because a catalog is that of
/// a runner.
pub(crate) fn catalog_changed(session: &mut Session, it: &CatalogChanged) {
    if session.runner.is_none() {
        return;
    }
    let before = session.terms.clone();
    let gates = before.gates.clone();
    session.take_terms(&it.catalog, &it.policies, gates, it.rules);
    stop_sharing(session, &before);
    taken(session);
}

/// Stops the sharing of results of runs whose tool has another contract now. Their calls get the
/// results, and equal calls run the changed tool.
fn stop_sharing(session: &mut Session, before: &Terms) {
    let running = session.calls.iter().filter(|(_, call)| call.runs());
    let changed = running.filter(|(_, call)| {
        let is_shared = call.cache_key.is_some();
        is_shared && before.contract(&call.name) != session.terms.contract(&call.name)
    });
    for seq in changed.map(|(seq, _)| *seq).collect::<Vec<_>>() {
        let key = session
            .calls
            .get_mut(&seq)
            .and_then(|it| it.cache_key.take());
        cache::stopped(session, seq, key);
    }
}

fn taken(session: &mut Session) {
    phases::stop_transitions(session);
    hooks::decide_reassigned_gates(session);
}

#[cfg(test)]
#[path = "terms_tests.rs"]
#[expect(clippy::indexing_slicing, reason = "a test may fail")]
mod tests;
