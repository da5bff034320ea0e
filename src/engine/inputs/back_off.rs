//! The sessions whose task failed, and the time before this process begins another one.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::session::{SessionId, Timestamp};

/// The wait after the first failure. It doubles with each further one.
const WAIT: Duration = Duration::from_millis(250);

/// The longest wait. A failure that comes later than this after a wait counts as the first again.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// The waits before tasks of sessions begin again, in a journal that several processes write.
///
/// A failure may pass, as that of a database. If it does not, attempts must cost little. An input
/// for the session does not wait.
#[derive(Default)]
pub(in crate::engine) struct BackOff {
    of_sessions: Mutex<BTreeMap<SessionId, Wait>>,
}

#[derive(Clone, Copy)]
struct Wait {
    length: Duration,
    until: Timestamp,
}

impl Wait {
    fn is_old(&self, now: Timestamp) -> bool {
        self.until.after(WAIT_MAX) < now
    }
}

impl BackOff {
    /// Notes that the task of a session failed.
    pub(in crate::engine) fn failed(&self, session: SessionId, now: Timestamp) {
        let mut waits = self.of_sessions();
        let last = waits.get(&session).filter(|it| !it.is_old(now));
        let length = last.map_or(WAIT, |it| it.length.saturating_mul(2).min(WAIT_MAX));
        let until = now.after(length);
        waits.insert(session, Wait { length, until });
    }

    /// True if it is too early for another task of a session.
    pub(in crate::engine) fn waits(&self, session: SessionId, now: Timestamp) -> bool {
        let wait = self.of_sessions().get(&session).copied();
        // A clock that was set back makes no wait longer.
        wait.is_some_and(|it| now < it.until && it.until <= now.after(it.length))
    }

    /// Notes that a task of a session ended as it should.
    pub(in crate::engine) fn forget(&self, session: SessionId) {
        self.of_sessions().remove(&session);
    }

    /// Forgets failures that are long ago.
    pub(in crate::engine) fn forget_old(&self, now: Timestamp) {
        self.of_sessions().retain(|_, it| !it.is_old(now));
    }

    fn of_sessions(&self) -> MutexGuard<'_, BTreeMap<SessionId, Wait>> {
        self.of_sessions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn each_failure_doubles_the_wait() {
        let (back_off, session) = (BackOff::default(), SessionId(Uuid::from_u128(1)));
        let mut now = Timestamp(0);
        assert!(!back_off.waits(session, now));
        for millis in [250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000] {
            back_off.failed(session, now);
            let end = now.after(Duration::from_millis(millis));
            let before = Timestamp(end.0 - 1);
            assert!(back_off.waits(session, now) && back_off.waits(session, before));
            assert!(!back_off.waits(session, end), "{millis}");
            assert!(!back_off.waits(SessionId(Uuid::from_u128(2)), now));
            now = end;
        }
        let first_again = |now: Timestamp| {
            back_off.failed(session, now);
            !back_off.waits(session, now.after(WAIT))
        };
        assert!(!first_again(now));
        back_off.forget_old(now);
        assert!(!first_again(now));
        now = now.after(WAIT_MAX * 3);
        assert!(first_again(now) && !first_again(now));
        back_off.forget(session);
        assert!(first_again(now));
    }

    #[test]
    fn clock_set_back_makes_no_wait_longer() {
        let (back_off, session) = (BackOff::default(), SessionId(Uuid::from_u128(1)));
        back_off.failed(session, Timestamp(1_000_000_000));
        assert!(!back_off.waits(session, Timestamp(0)));
    }
}
