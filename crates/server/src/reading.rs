//! The read of one request: the sessions that its answer shows, until they are on record.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::StatusCode;
use recount::session::SessionId;
use recount_reads::{Read, Recorder};

use crate::problems::{Code, Problem};

/// The read of a request. Clones share it, because a response that lasts shows further sessions.
#[derive(Clone)]
pub(crate) struct Reading {
    recorder: Recorder,
    state: Arc<Mutex<State>>,
}

struct State {
    /// The read, with the sessions that are not on record yet.
    read: Read,
    /// The sessions that were noted so far.
    noted: BTreeSet<SessionId>,
}

impl Reading {
    /// A read without sessions.
    pub(crate) fn new(recorder: Recorder, read: Read) -> Reading {
        let noted = BTreeSet::new();
        let state = Arc::new(Mutex::new(State { read, noted }));
        Reading { recorder, state }
    }

    /// Notes that the answer has something of the session.
    pub(crate) fn shows(&self, session: SessionId) {
        let mut state = self.state();
        if state.noted.insert(session) {
            state.read.sessions.push(session);
        }
    }

    /// Notes that the answer is about every session that the reader may see.
    pub(crate) fn shows_every_session(&self) {
        self.state().read.every_session = true;
    }

    /// Puts the read on record, with the status of its answer.
    pub(crate) async fn record(&self, status: StatusCode) -> Result<(), Problem> {
        let read = {
            let mut state = self.state();
            state.read.status = status.as_u16();
            state.take()
        };
        self.put(read).await
    }

    /// Puts the sessions on record that a response has shown since.
    pub(crate) async fn record_more(&self) -> Result<(), Problem> {
        let read = {
            let mut state = self.state();
            match state.read.sessions.is_empty() {
                true => return Ok(()),
                false => state.take(),
            }
        };
        self.put(read).await
    }

    async fn put(&self, read: Read) -> Result<(), Problem> {
        let recorded = self.recorder.record(read).await;
        // The reason is for the operator, in the log and on the page of operations.
        recorded.map_err(|_| {
            let detail = "nothing is shown while reads cannot be put on record";
            Problem::new(Code::ReadNotRecorded, detail)
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change is one step, so a panic elsewhere leaves a whole read.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The read up to now. Its sessions are not taken again.
    fn take(&mut self) -> Read {
        let read = self.read.clone();
        self.read.sessions.clear();
        read
    }
}
