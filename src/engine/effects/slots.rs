//! How many tools of all sessions run at the same time, and whose turn it is.
//!
//! Sessions take turns, not calls: one that starts a hundred calls waits behind itself and nobody
//! else behind it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::session::SessionId;

/// The places for running tools; without a limit there is always one, until the engine shuts down.
#[derive(Clone)]
pub(in crate::engine) struct Slots(Arc<Mutex<Queue>>);

struct Queue {
    free: usize,
    /// No place is given any more.
    shut: bool,
    /// The sessions that wait, the next first; each stands here once.
    turns: VecDeque<SessionId>,
    waiting: BTreeMap<SessionId, VecDeque<oneshot::Sender<Slot>>>,
}

/// A place, free again once this is dropped.
pub(in crate::engine) struct Slot(Option<Arc<Mutex<Queue>>>);

/// The place of one run, shared between the run and its session: a tool that blocks its thread goes
/// on after its end, and must keep nobody from the place.
#[derive(Clone, Default)]
pub(in crate::engine) struct Held(Arc<Mutex<Hold>>);

#[derive(Default)]
enum Hold {
    #[default]
    Waiting,
    Holds {
        _place: Slot,
    },
    LetGo,
}

impl Held {
    /// Keeps the place until it is let go, which it may have been already.
    pub(in crate::engine) fn hold(&self, place: Slot) {
        let mut hold = self.lock();
        match *hold {
            Hold::Waiting | Hold::Holds { .. } => *hold = Hold::Holds { _place: place },
            Hold::LetGo => {
                drop(hold);
                drop(place);
            }
        }
    }

    /// Gives the place to whoever is next.
    pub(in crate::engine) fn let_go(&self) {
        let held = std::mem::replace(&mut *self.lock(), Hold::LetGo);
        // Outside the lock: whoever gets it may let go of it at once.
        drop(held);
    }

    fn lock(&self) -> MutexGuard<'_, Hold> {
        // It is whole between any two statements.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Slots {
    fn default() -> Slots {
        Slots::limited(usize::MAX)
    }
}

impl Slots {
    /// Room for so many.
    pub(in crate::engine) fn limited(slots: usize) -> Slots {
        let queue = Queue {
            free: slots,
            shut: false,
            turns: VecDeque::new(),
            waiting: BTreeMap::new(),
        };
        Slots(Arc::new(Mutex::new(queue)))
    }

    /// Gives no place any more: nothing begins from here on, and who waits goes on waiting until
    /// their session ends.
    pub(in crate::engine) fn shut(&self) {
        lock(&self.0).shut = true;
    }

    /// True if nothing begins any more.
    pub(in crate::engine) fn is_shut(&self) -> bool {
        lock(&self.0).shut
    }

    /// Waits for a place. Whoever drops the future has left the queue.
    pub(in crate::engine) async fn take(&self, session: SessionId) -> Slot {
        let given = {
            let mut open = lock(&self.0);
            if open.free > 0 && !open.shut {
                open.free -= 1;
                return Slot(Some(self.0.clone()));
            }
            let (place, given) = oneshot::channel();
            let waiting = open.waiting.entry(session).or_default();
            waiting.push_back(place);
            if waiting.len() == 1 {
                open.turns.push_back(session);
            }
            given
        };
        // The queue lives as long as this, so nobody drops the other end.
        given.await.unwrap_or(Slot(None))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let Some(queue) = self.0.take() else {
            return;
        };
        loop {
            let next = lock(&queue).next();
            let Some(next) = next else {
                return;
            };
            // Outside the lock: a place that nobody takes any more comes back here, to be given to
            // the one after.
            match next.send(Slot(Some(queue.clone()))) {
                Ok(()) => return,
                // Not dropped as a place, or it would be given away twice.
                Err(mut untaken) => _ = untaken.0.take(),
            }
        }
    }
}

impl Queue {
    /// Whose turn it is; the place is free if it is nobody's.
    fn next(&mut self) -> Option<oneshot::Sender<Slot>> {
        let turn = if self.shut {
            None
        } else {
            self.turns.pop_front()
        };
        let Some(session) = turn else {
            self.free += 1;
            return None;
        };
        let waiting = self.waiting.get_mut(&session)?;
        let next = waiting.pop_front();
        if waiting.is_empty() {
            self.waiting.remove(&session);
        } else {
            self.turns.push_back(session);
        }
        next
    }
}

fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    // The queue is whole between any two statements, so a panic elsewhere does not spoil it.
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]
mod tests {
    use futures_util::FutureExt;
    use uuid::Uuid;

    use super::*;

    fn session(number: u128) -> SessionId {
        SessionId(Uuid::from_u128(number))
    }

    #[test]
    fn sessions_take_turns_however_many_calls_one_has() {
        let slots = Slots::limited(1);
        let running = slots.take(session(1)).now_or_never().unwrap();
        let mut many: Vec<_> = (0..3).map(|_| Box::pin(slots.take(session(1)))).collect();
        assert!(many.iter_mut().all(|it| it.now_or_never().is_none()));
        let mut one = Box::pin(slots.take(session(2)));
        assert!((&mut one).now_or_never().is_none());
        drop(running);
        let first = (&mut many[0]).now_or_never().unwrap();
        drop(first);
        // The other session's one call comes before the second of the many.
        assert!((&mut many[1]).now_or_never().is_none());
        drop((&mut one).now_or_never().unwrap());
        drop((&mut many[1]).now_or_never().unwrap());
        drop((&mut many[2]).now_or_never().unwrap());
        assert!(slots.take(session(3)).now_or_never().is_some());
    }

    #[test]
    fn once_shut_no_place_is_given_to_whoever_comes_or_waits() {
        let slots = Slots::limited(1);
        let running = slots.take(session(1)).now_or_never().unwrap();
        let mut waits = Box::pin(slots.take(session(2)));
        assert!((&mut waits).now_or_never().is_none());
        slots.shut();
        drop(running);
        assert!((&mut waits).now_or_never().is_none());
        assert!(slots.take(session(3)).now_or_never().is_none());
        let unlimited = Slots::default();
        drop(unlimited.take(session(1)).now_or_never().unwrap());
        unlimited.shut();
        assert!(unlimited.is_shut());
        assert!(unlimited.take(session(1)).now_or_never().is_none());
    }

    #[test]
    fn who_leaves_the_queue_costs_nobody_a_place() {
        let slots = Slots::limited(1);
        let running = slots.take(session(1)).now_or_never().unwrap();
        let mut left = Box::pin(slots.take(session(2)));
        let mut stays = Box::pin(slots.take(session(3)));
        assert!((&mut left).now_or_never().is_none());
        assert!((&mut stays).now_or_never().is_none());
        drop(left);
        drop(running);
        drop((&mut stays).now_or_never().unwrap());
        // A place that was given, and whose taker left before it looked, comes back, too.
        let running = slots.take(session(1)).now_or_never().unwrap();
        let mut given = Box::pin(slots.take(session(2)));
        assert!((&mut given).now_or_never().is_none());
        drop(running);
        drop(given);
        assert!(slots.take(session(4)).now_or_never().is_some());
    }
}
