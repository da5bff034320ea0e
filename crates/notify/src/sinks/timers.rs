//! The requests that are sent again if they still wait.

use std::collections::BTreeMap;
use std::sync::Arc;

use recount::engine::Clock;
use recount::session::{Seq, SessionId, Timestamp};

use crate::routing::Dues;
use crate::values::Occasion;

/// The requests that are sent again if they still wait.
///
/// A time is due once the clock shows it, or once its whole wait has passed since the request was
/// seen. So a clock that is set back delays nothing for longer than that wait.
pub(super) struct Timers {
    clock: Arc<dyn Clock>,
    /// The last reading of the clock.
    read: Timestamp,
    /// The time that has passed since the start, in microseconds. A clock that is set back does not
    /// change it.
    passed_us: i64,
    waiting: BTreeMap<(SessionId, Seq), Waiting>,
    /// No timer is due before this reading and before this much time has passed.
    earliest: (i64, i64),
}

/// A request that may be sent again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) call: Seq,
    pub(super) asked: Timestamp,
    pub(super) dues: Dues,
    /// The time that had passed when the request was seen.
    seen_us: i64,
}

/// A request that is due to be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) session: SessionId,
    pub(super) request: Seq,
    pub(super) call: Seq,
    pub(super) occasion: Occasion,
    pub(super) at: Timestamp,
}

impl Timers {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Timers {
        Timers {
            read: clock.now(),
            clock,
            passed_us: 0,
            waiting: BTreeMap::new(),
            earliest: (i64::MAX, i64::MAX),
        }
    }

    /// Reads the clock.
    pub(super) fn now(&mut self) -> Timestamp {
        let now = self.clock.now();
        let passed = now.0.saturating_sub(self.read.0).max(0);
        self.passed_us = self.passed_us.saturating_add(passed);
        self.read = now;
        now
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds a request.
    pub(super) fn add(
        &mut self,
        (session, request): (SessionId, Seq),
        call: Seq,
        asked: Timestamp,
        dues: Dues,
    ) {
        if dues == Dues::default() {
            return;
        }
        self.now();
        let waiting = Waiting {
            call,
            asked,
            dues,
            seen_us: self.passed_us,
        };
        self.lower_earliest(waiting);
        self.waiting.entry((session, request)).or_insert(waiting);
    }

    /// Removes a request.
    pub(super) fn remove(&mut self, session: SessionId, request: Seq) {
        self.waiting.remove(&(session, request));
    }

    /// Removes and returns timers that are due, of a limited number of requests.
    pub(super) fn due(&mut self, limit: usize) -> Vec<Due> {
        let now = self.now();
        if limit == 0 {
            return Vec::new();
        }
        if now.0 < self.earliest.0 && self.passed_us < self.earliest.1 {
            return Vec::new();
        }
        let (mut due, mut left) = (Vec::new(), limit);
        for ((session, request), waiting) in &mut self.waiting {
            if left == 0 {
                break;
            }
            let passed = self.passed_us.saturating_sub(waiting.seen_us);
            let asked = waiting.asked;
            let is_due = |at: &Timestamp| *at <= now || at.0.saturating_sub(asked.0) <= passed;
            let dues = &mut waiting.dues;
            let reminder = dues.reminder.take_if(|it| is_due(it));
            let escalation = dues.escalation.take_if(|it| is_due(it));
            left -= usize::from(reminder.is_some() || escalation.is_some());
            let taken = [
                (Occasion::Reminder, reminder),
                (Occasion::Escalated, escalation),
            ];
            for (occasion, at) in taken.into_iter().filter_map(|(it, at)| Some((it, at?))) {
                due.push(Due {
                    session: *session,
                    request: *request,
                    call: waiting.call,
                    occasion,
                    at,
                });
            }
        }
        self.waiting.retain(|_, it| it.dues != Dues::default());
        self.earliest = (i64::MAX, i64::MAX);
        let waiting: Vec<Waiting> = self.waiting.values().copied().collect();
        waiting.into_iter().for_each(|it| self.lower_earliest(it));
        due
    }

    /// The reading of the clock at which the next timer is due, if the clock is not set.
    pub(super) fn next(&self) -> Option<Timestamp> {
        if self.waiting.is_empty() {
            return None;
        }
        let left = self.earliest.1.saturating_sub(self.passed_us);
        let next = self.earliest.0.min(self.read.0.saturating_add(left));
        Some(Timestamp(next))
    }

    fn lower_earliest(&mut self, waiting: Waiting) {
        let dues = [waiting.dues.reminder, waiting.dues.escalation];
        for due in dues.into_iter().flatten() {
            let wait = due.0.saturating_sub(waiting.asked.0);
            let (clock, passed) = self.earliest;
            let by_passed = waiting.seen_us.saturating_add(wait);
            self.earliest = (clock.min(due.0), passed.min(by_passed));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use recount::engine::Clock;
    use recount_journal::BoxFuture;
    use uuid::Uuid;

    use super::*;

    /// A clock that the test sets, also back.
    struct Hands(AtomicI64);

    impl Hands {
        fn set(&self, seconds: i64) {
            self.0.store(seconds * 1_000_000, Ordering::Relaxed);
        }
    }

    impl Clock for Hands {
        fn now(&self) -> Timestamp {
            Timestamp(self.0.load(Ordering::Relaxed))
        }

        fn reached(&self, _: Timestamp) -> BoxFuture<'static, ()> {
            Box::pin(std::future::pending())
        }

        fn new_session(&self) -> SessionId {
            session()
        }
    }

    fn session() -> SessionId {
        SessionId(Uuid::from_u128(7))
    }

    const fn second(seconds: i64) -> Timestamp {
        Timestamp(seconds * 1_000_000)
    }

    fn timers(start: i64) -> (Arc<Hands>, Timers) {
        let clock = Arc::new(Hands(AtomicI64::new(start * 1_000_000)));
        let timers = Timers::new(clock.clone());
        (clock, timers)
    }

    fn add(timers: &mut Timers, request: u64, asked: i64, escalation: i64) {
        let dues = Dues {
            reminder: None,
            escalation: Some(second(escalation)),
        };
        let request = (session(), Seq(request));
        timers.add(request, Seq(1), second(asked), dues);
    }

    #[test]
    fn timer_is_due_once() {
        let (clock, mut timers) = timers(1_000);
        add(&mut timers, 1, 1_000, 1_060);
        add(&mut timers, 2, 1_000, 1_090);
        assert_eq!(timers.next(), Some(second(1_060)));
        clock.set(1_059);
        assert!(timers.due(9).is_empty());
        clock.set(1_061);
        let due = timers.due(9);
        assert_eq!(
            (due.len(), due[0].request, due[0].at),
            (1, Seq(1), second(1_060))
        );
        assert!(timers.due(9).is_empty());
        assert_eq!(timers.next(), Some(second(1_090)));
        timers.remove(session(), Seq(2));
        clock.set(2_000);
        assert!(timers.due(9).is_empty() && timers.is_empty());
    }

    #[test]
    fn clock_set_back_delays_no_timer() {
        let (clock, mut timers) = timers(10_000);
        add(&mut timers, 1, 10_000, 10_060);
        clock.set(10_040);
        assert!(timers.due(9).is_empty());
        clock.set(3_000);
        assert!(timers.due(9).is_empty());
        assert_eq!(timers.next(), Some(second(3_020)));
        clock.set(3_019);
        assert!(timers.due(9).is_empty());
        clock.set(3_020);
        assert_eq!(timers.due(9).len(), 1);
    }

    #[test]
    fn clock_set_forward_and_back_makes_no_later_timer_early() {
        let (clock, mut timers) = timers(1_000);
        clock.set(90_000);
        timers.due(9);
        clock.set(1_001);
        add(&mut timers, 1, 1_001, 1_061);
        clock.set(1_060);
        assert!(timers.due(9).is_empty());
        clock.set(1_061);
        assert_eq!(timers.due(9).len(), 1);
    }

    #[test]
    fn timers_beyond_the_limit_stay_due() {
        let (clock, mut timers) = timers(1_000);
        for request in 1..=3 {
            add(&mut timers, request, 1_000, 1_060);
        }
        clock.set(1_060);
        assert!(timers.due(0).is_empty());
        let due = timers.due(2);
        assert_eq!((due[0].request, due[1].request), (Seq(1), Seq(2)));
        assert_eq!(timers.next(), Some(second(1_060)));
        assert_eq!(timers.due(2).len(), 1);
        assert!(timers.is_empty());
    }
}
