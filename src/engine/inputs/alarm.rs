//! The due times of sessions without a task, and the agents registered later.
//!
//! A session that only waits costs an entry in a set here, no task and no timer.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::session::{SessionId, Timestamp};

/// The due times, each with its session.
#[derive(Default)]
pub(in crate::engine) struct Alarm {
    due: Mutex<BTreeSet<(Timestamp, SessionId)>>,
    /// The agents registered while the engine was open, whose sessions' owed effects are not
    /// started yet.
    new_agents: Mutex<Vec<String>>,
    pub(in crate::engine) changed: Notify,
}

impl Alarm {
    /// Wakes the session at this time.
    pub(in crate::engine) fn set(&self, due: Timestamp, session: SessionId) {
        self.lock().insert((due, session));
        self.changed.notify_one();
    }

    /// Starts the owed effects in the sessions of a newly registered agent.
    pub(in crate::engine) fn add_agent(&self, agent: String) {
        self.new_agents().push(agent);
        self.changed.notify_one();
    }

    pub(in crate::engine) fn first(&self) -> Option<(Timestamp, SessionId)> {
        self.lock().first().copied()
    }

    pub(in crate::engine) fn lock(&self) -> MutexGuard<'_, BTreeSet<(Timestamp, SessionId)>> {
        // The set is consistent between any two statements, so a panic elsewhere does not corrupt
        // it.
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::engine) fn new_agents(&self) -> MutexGuard<'_, Vec<String>> {
        let new_agents = self.new_agents.lock();
        new_agents.unwrap_or_else(PoisonError::into_inner)
    }
}
