//! The queue of a journal whose disk has no room for the next commit.

use std::collections::HashSet;

use super::queue::Shared;
use super::queued::Queued;
use super::state::State;
use crate::Error;

impl State {
    /// Rejects the durable appends that a full disk had no room for, and later appends to the same
    /// streams. Buffered appends were already acknowledged, so they stay queued for the next
    /// commit.
    pub(crate) fn no_room(&mut self, taken: Vec<Queued>, (free, floor): (u64, u64)) {
        let queued: Vec<Queued> = taken.into_iter().chain(self.queue.drain(..)).collect();
        self.heads.clear();
        self.queued_bytes = 0;
        self.awaited = false;
        self.full = Some((free, floor));
        let mut refused = HashSet::new();
        for queued in queued {
            let session = queued.added.session;
            if queued.ack.is_some() || refused.contains(&session) {
                refused.insert(session);
                self.committed += 1;
                queued.refuse_with(Error::NoSpace { free, floor });
            } else {
                self.heads.insert(session, queued.added.head);
                self.queued_bytes += queued.bytes.len();
                self.queue.push_back(queued);
            }
        }
        // Wakes all waiting callers: readers return the error, appends try again.
        self.readers.clear();
        self.waiting_for_room.clear();
    }

    /// Returns the error of a full disk while an admitted append waits for room.
    pub(crate) fn full(&self) -> Result<(), Error> {
        match self.full {
            Some((free, floor)) if self.committed < self.admitted => {
                Err(Error::NoSpace { free, floor })
            }
            Some(_) | None => Ok(()),
        }
    }
}

impl Shared {
    /// Checks whether an append would be rejected now for lack of room.
    pub(crate) fn room(&self) -> Result<(), Error> {
        let was_full = {
            let state = self.state();
            state.full()?;
            state.full.is_some()
        };
        if was_full {
            self.floor.check_after_full()
        } else {
            self.floor.check_free_space()
        }
    }
}
