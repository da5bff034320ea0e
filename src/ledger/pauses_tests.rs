#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

use std::sync::Arc;

use recount_journal::{MemoryJournal, block_on};

use super::*;

fn ledger() -> Ledger {
    Ledger::new(Arc::new(MemoryJournal::new()))
}

fn pause(ledger: &Ledger, scope: PauseScope) -> Result<Seq, Rejection> {
    let by = Actor::embedder("ada");
    block_on(ledger.pause_sessions((scope, None), false, by, Timestamp(5))).unwrap()
}

fn unpause(ledger: &Ledger, scope: PauseScope) -> Result<Seq, Rejection> {
    let by = Actor::embedder("bob");
    block_on(ledger.unpause_sessions(scope, None, by, Timestamp(6))).unwrap()
}

fn support() -> PauseScope {
    PauseScope::Agent("support".to_owned())
}

/// The session after it observed what it owes.
fn observed(ledger: &Ledger, mut session: Session, agent: &str) -> Session {
    for observation in ledger.unobserved_pauses(&session, agent) {
        session = crate::session::step(session, Timestamp(7), observation)
            .unwrap()
            .session;
    }
    session
}

fn session() -> Session {
    Session::new(SessionId(Uuid::from_u128(7)))
}

#[test]
fn session_observes_each_word_that_concerns_it_once() {
    let ledger = ledger();
    pause(&ledger, PauseScope::Everything).unwrap();
    pause(&ledger, support()).unwrap();
    let held = observed(&ledger, session(), "support");
    assert_eq!(held.pauses.iter().count(), 2);
    assert_eq!(ledger.unobserved_pauses(&held, "support"), []);
    let other = observed(&ledger, session(), "billing");
    assert_eq!(other.pauses.iter().count(), 1);
    unpause(&ledger, PauseScope::Everything).unwrap();
    let held = observed(&ledger, held, "support");
    assert!(held.pauses.of(&support()).is_some());
    assert_eq!(held.pauses.iter().count(), 1);
    // A session that was not loaded meanwhile observes neither.
    assert_eq!(observed(&ledger, session(), "billing"), session());
}

#[test]
fn second_pause_and_second_end_are_refused() {
    let ledger = ledger();
    assert!(matches!(
        unpause(&ledger, support()),
        Err(Rejection::NotPaused { .. })
    ));
    assert_eq!(pause(&ledger, support()), Ok(Seq(1)));
    let Err(Rejection::AlreadyPaused(first)) = pause(&ledger, support()) else {
        panic!("it was paused twice")
    };
    assert_eq!((first.at, first.by.name.as_str()), (Seq(1), "ada"));
    assert_eq!(unpause(&ledger, support()), Ok(Seq(2)));
    assert!(unpause(&ledger, support()).is_err());
    assert_eq!(pause(&ledger, support()), Ok(Seq(3)));
}

/// A second process reads the words of the first.
#[test]
fn pause_is_read_by_the_next_ledger() {
    let first = ledger();
    pause(&first, PauseScope::Everything).unwrap();
    let next = Ledger::new(first.journal().clone());
    assert_eq!(next.pause_version(), 0);
    block_on(next.read_pauses()).unwrap();
    assert_eq!(next.pause_version(), 1);
    assert_eq!(next.unobserved_pauses(&session(), "support").len(), 1);
    let listed = block_on(next.pauses()).unwrap();
    assert_eq!((listed.len(), listed.first().unwrap().session), (1, None));
}

/// A pause of another journal holds until this journal says something about its scope.
#[test]
fn imported_session_keeps_the_pause_of_its_old_journal() {
    let old = ledger();
    pause(&old, PauseScope::Everything).unwrap();
    let held = observed(&old, session(), "support");
    let new = ledger();
    block_on(new.read_pauses()).unwrap();
    assert_eq!(new.unobserved_pauses(&held, "support"), []);
    pause(&new, PauseScope::Everything).unwrap();
    unpause(&new, PauseScope::Everything).unwrap();
    assert!(observed(&new, held, "support").pauses.is_empty());
}
