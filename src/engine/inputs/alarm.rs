//! The times at which sessions without a task are due, and the agents that came later. A session
//! that merely waits costs a line in a list here, no task and no timer.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::session::{SessionId, Timestamp};

/// What is due, and of which session.
#[derive(Default)]
pub(in crate::engine) struct Alarm {
    due: Mutex<BTreeSet<(Timestamp, SessionId)>>,
    /// The agents that came while the engine was open, and of whose sessions nobody has looked
    /// after what is owed.
    newcomers: Mutex<Vec<String>>,
    pub(in crate::engine) changed: Notify,
}

impl Alarm {
    /// Wakes the session at this time.
    pub(in crate::engine) fn set(&self, due: Timestamp, session: SessionId) {
        self.lock().insert((due, session));
        self.changed.notify_one();
    }

    /// Looks after what is owed in the sessions of an agent that is here from now on.
    pub(in crate::engine) fn look_after(&self, agent: String) {
        self.newcomers().push(agent);
        self.changed.notify_one();
    }

    pub(in crate::engine) fn first(&self) -> Option<(Timestamp, SessionId)> {
        self.lock().first().copied()
    }

    pub(in crate::engine) fn lock(&self) -> MutexGuard<'_, BTreeSet<(Timestamp, SessionId)>> {
        // The set is whole between any two statements, so a panic elsewhere does not spoil it.
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::engine) fn newcomers(&self) -> MutexGuard<'_, Vec<String>> {
        let newcomers = self.newcomers.lock();
        newcomers.unwrap_or_else(PoisonError::into_inner)
    }
}
