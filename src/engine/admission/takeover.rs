//! The recorded state that a dead process left open.
//!
//! The proof is [`Owned`]: a lock on the journal, or a claim of the session whose former epoch has
//! ended. The end of the former process must be recorded before anything else. A session that is
//! only read gets no event.

use crate::ledger::Owned;
use crate::session::{
    Deadline, DeadlinePassed, Disconnected, Observation, RunnerDetached, Session, Timestamp,
    overdue,
};

/// Returns the ends of the connection and the runner of a dead process.
pub(crate) fn observations(session: &Session, _proof: &Owned) -> Vec<Observation> {
    let disconnected = session
        .connection
        .map(|epoch| Observation::from(Disconnected::of_gone_process(epoch)));
    let detached = session
        .runner
        .map(|_| Observation::from(RunnerDetached::of_gone_process()));
    let mut ends: Vec<Observation> = disconnected.into_iter().chain(detached).collect();
    if session.leaving.is_some() {
        // Calls held back during a planned switch must not start under a dead runner.
        ends.reverse();
    }
    ends
}

/// Returns the deadlines that have passed when a new process takes over a session.
///
/// A call of the dead process's connection is not acknowledged any more.
pub(in crate::engine) fn overdue_after(
    session: &Session,
    now: Timestamp,
    _proof: &Owned,
) -> Vec<Observation> {
    let mut passed = overdue(session, now);
    passed.retain(|it| {
        let of_connection = matches!(
            it,
            Observation::DeadlinePassed(DeadlinePassed {
                deadline: Deadline::Acknowledgement { .. },
                ..
            })
        );
        !of_connection
    });
    passed
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{history, toolbox};

    #[test]
    fn held_back_call_does_not_start_when_process_dies() {
        let tools = toolbox().plain("pay");
        let support = history().opened("support").attached(&tools).connected();
        let held_back = support.switch_planned().call("c1", "pay", json!({}));
        let proof = Owned::in_own_journal(held_back.session().id);
        let ends = observations(held_back.session(), &proof).into_iter();
        let dead = ends.fold(held_back, |history, it| history.observed(it));
        assert_eq!(
            dead.kinds().last_chunk(),
            Some(&["runner_detached", "disconnected"])
        );
        assert_eq!(dead.current().phase.name(), "ready");
    }
}
