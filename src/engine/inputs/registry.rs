//! The registry of session tasks, at most one per session.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use recount_journal::Error as JournalError;
use tokio_util::sync::CancellationToken;

use super::inbox::{Inbox, Input};
use crate::engine::error::Error;
use crate::engine::live_media::input_lines::Place;
use crate::engine::live_media::media::Media;
use crate::session::SessionId;

/// The sessions that have a task.
#[derive(Default)]
pub(in crate::engine) struct Registry {
    tasks: Mutex<BTreeMap<SessionId, TaskRef>>,
}

/// A reference to a session's task.
#[derive(Clone)]
pub(in crate::engine) struct TaskRef {
    pub(in crate::engine) inbox: Inbox,
    /// Set once the task has failed.
    pub(in crate::engine) failure: Arc<OnceLock<Failure>>,
    /// The path of audio and video.
    pub(in crate::engine) media: Arc<Media>,
    /// Fires once the session is closed.
    pub(in crate::engine) over: CancellationToken,
}

/// The failure of a session's task.
#[derive(Debug)]
pub(in crate::engine) struct Failure {
    pub(in crate::engine) cause: String,
    /// True if the journal could not be written.
    pub(in crate::engine) unwritable: bool,
    /// The process that owns the session, if the task found that before it handled any input.
    pub(in crate::engine) owner: Option<String>,
}

impl TaskRef {
    /// Returns the error for a caller whose request the task did not answer.
    pub(in crate::engine) fn stopped(&self, session: SessionId) -> Error {
        match self.failure.get() {
            Some(Failure {
                owner: Some(owner), ..
            }) => {
                let (session, owner) = (session.0, owner.clone());
                JournalError::Owned { session, owner }.into()
            }
            Some(Failure {
                cause,
                unwritable,
                owner: None,
            }) => Error::Stopped {
                session,
                cause: cause.clone(),
                unwritable: *unwritable,
            },
            None => Error::ShutDown,
        }
    }
}

impl Registry {
    /// Sends `input` to the session's task, or to `spawn`, which spawns a task with it.
    ///
    /// A task retires under the same lock, so no input is lost between two tasks.
    pub(in crate::engine) fn send(
        &self,
        id: SessionId,
        input: Input,
        spawn: impl FnOnce(Input) -> TaskRef,
    ) -> TaskRef {
        let mut tasks = self.lock();
        let input = match tasks.get(&id) {
            Some(task) => match task.inbox.send(input) {
                Ok(()) => return task.clone(),
                Err(rejected) => *rejected,
            },
            None => input,
        };
        let task = spawn(input);
        tasks.insert(id, task.clone());
        task
    }

    /// Returns the session's task, if it has one.
    pub(in crate::engine) fn task(&self, id: SessionId) -> Option<TaskRef> {
        self.lock().get(&id).cloned()
    }

    /// Returns the place of text that a client of this session sends now.
    pub(in crate::engine) fn place_of_text(&self, id: SessionId) -> Option<Place> {
        let media = self.lock().get(&id).map(|it| it.media.clone());
        media.map(|it| it.place_of_text())
    }

    /// True if the session has a task that can handle inputs.
    pub(in crate::engine) fn has_task(&self, id: SessionId) -> bool {
        let tasks = self.lock();
        tasks.get(&id).is_some_and(|it| !it.inbox.is_closed())
    }

    /// Runs `step` if the session has no task, before one can begin.
    pub(in crate::engine) fn without_task<T>(
        &self,
        id: SessionId,
        step: impl FnOnce() -> T,
    ) -> Option<T> {
        let tasks = self.lock();
        let has_task = tasks.get(&id).is_some_and(|it| !it.inbox.is_closed());
        (!has_task).then(step)
    }

    /// Removes the session's task if `idle` still holds while no input can be sent.
    pub(in crate::engine) fn remove_if(&self, id: SessionId, idle: impl FnOnce() -> bool) -> bool {
        let mut tasks = self.lock();
        let removed = idle();
        if removed {
            tasks.remove(&id);
        }
        removed
    }

    /// Returns the sessions that have a task.
    pub(in crate::engine) fn ids(&self) -> BTreeSet<SessionId> {
        self.lock().keys().copied().collect()
    }

    /// Returns every task.
    pub(in crate::engine) fn all(&self) -> Vec<TaskRef> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionId, TaskRef>> {
        // The map is consistent between any two statements, so a panic elsewhere does not corrupt
        // it.
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
