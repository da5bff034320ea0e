//! The limit of concurrently running tools of all sessions, shared fairly.
//!
//! Sessions take turns, not calls: a session that starts a hundred calls delays only itself.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::session::SessionId;

/// The slots for running tools. Without a limit a slot is always free, until the engine shuts down.
#[derive(Clone)]
pub(in crate::engine) struct Slots(Arc<Mutex<Queue>>);

struct Queue {
    free: usize,
    /// True if no more slots are granted.
    shut: bool,
    /// The waiting sessions in turn; each appears once.
    turns: VecDeque<SessionId>,
    waiting: BTreeMap<SessionId, VecDeque<oneshot::Sender<Slot>>>,
}

/// A slot, freed when dropped.
pub(in crate::engine) struct Slot(Option<Arc<Mutex<Queue>>>);

/// The slot of one run, shared between the run and its session.
///
/// A tool that blocks its thread continues after its abort, and must not keep the slot.
#[derive(Clone, Default)]
pub(in crate::engine) struct RunSlot(Arc<Mutex<Hold>>);

#[derive(Default)]
enum Hold {
    #[default]
    Waiting,
    Holds {
        _slot: Slot,
    },
    Released,
}

impl RunSlot {
    /// Stores the slot, or frees it if the run has already been released.
    pub(in crate::engine) fn hold(&self, slot: Slot) {
        let mut hold = self.lock();
        match *hold {
            Hold::Waiting | Hold::Holds { .. } => *hold = Hold::Holds { _slot: slot },
            Hold::Released => {
                drop(hold);
                drop(slot);
            }
        }
    }

    /// Frees the slot for the next waiter.
    pub(in crate::engine) fn release(&self) {
        let held = std::mem::replace(&mut *self.lock(), Hold::Released);
        // Outside the lock: the next holder may free it at once.
        drop(held);
    }

    fn lock(&self) -> MutexGuard<'_, Hold> {
        // The value is consistent between any two statements.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Slots {
    fn default() -> Slots {
        Slots::limited(usize::MAX)
    }
}

impl Slots {
    /// Creates this many slots.
    pub(in crate::engine) fn limited(slots: usize) -> Slots {
        let queue = Queue {
            free: slots,
            shut: false,
            turns: VecDeque::new(),
            waiting: BTreeMap::new(),
        };
        Slots(Arc::new(Mutex::new(queue)))
    }

    /// Stops granting slots. A waiting run keeps waiting until its session ends.
    pub(in crate::engine) fn shut(&self) {
        lock(&self.0).shut = true;
    }

    /// True if no more slots are granted.
    pub(in crate::engine) fn is_shut(&self) -> bool {
        lock(&self.0).shut
    }

    /// Waits for a slot. Dropping the future leaves the queue.
    pub(in crate::engine) async fn take(&self, session: SessionId) -> Slot {
        let given = {
            let mut open = lock(&self.0);
            if open.free > 0 && !open.shut {
                open.free -= 1;
                return Slot(Some(self.0.clone()));
            }
            let (slot, given) = oneshot::channel();
            let waiting = open.waiting.entry(session).or_default();
            waiting.push_back(slot);
            if waiting.len() == 1 {
                open.turns.push_back(session);
            }
            given
        };
        // The queue lives as long as this, so the other end is not dropped.
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
            // Outside the lock: a slot whose waiter has gone comes back here, for the next waiter.
            match next.send(Slot(Some(queue.clone()))) {
                Ok(()) => return,
                // Not dropped as a slot, or it would be freed twice.
                Err(mut untaken) => _ = untaken.0.take(),
            }
        }
    }
}

impl Queue {
    /// Returns the next waiter. Without one, the slot is counted as free.
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
    // The queue is consistent between any two statements, so a panic elsewhere does not corrupt it.
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
    fn shut_slots_are_not_granted() {
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
    fn dropped_waiter_does_not_lose_slot() {
        let slots = Slots::limited(1);
        let running = slots.take(session(1)).now_or_never().unwrap();
        let mut left = Box::pin(slots.take(session(2)));
        let mut stays = Box::pin(slots.take(session(3)));
        assert!((&mut left).now_or_never().is_none());
        assert!((&mut stays).now_or_never().is_none());
        drop(left);
        drop(running);
        drop((&mut stays).now_or_never().unwrap());
        // A granted slot whose waiter left before it polled comes back, too.
        let running = slots.take(session(1)).now_or_never().unwrap();
        let mut given = Box::pin(slots.take(session(2)));
        assert!((&mut given).now_or_never().is_none());
        drop(running);
        drop(given);
        assert!(slots.take(session(4)).now_or_never().is_some());
    }
}
