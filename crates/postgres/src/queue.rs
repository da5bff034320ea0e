//! The appends that wait for a transaction.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_channel::oneshot;
use recount_journal::{Admission, Append, Error, Head, Line};
use tokio::sync::Notify;
use uuid::Uuid;

/// The maximum number of appends in a transaction.
const APPENDS: usize = 512;

/// The size from which a transaction takes no further append, in bytes.
const BYTES: usize = 4 << 20;

/// An append that waits, and its caller.
pub(crate) struct Job {
    pub(crate) append: Append,
    pub(crate) admission: Admission,
    /// The epoch in which this node owns the stream. `None` for a stream without an owner: a new
    /// one, and the journal's own.
    pub(crate) epoch: Option<i64>,
    /// True if a statement with this append was lost, so that its bytes may be stored.
    pub(crate) was_lost: bool,
    pub(crate) reply: oneshot::Sender<Result<Head, Error>>,
}

impl Job {
    fn size(&self) -> usize {
        let lines = self.append.lines.iter().map(Line::bytes).map(<[u8]>::len);
        let objects = self.append.objects.iter().map(|it| it.bytes.len());
        lines.chain(objects).sum()
    }
}

/// The appends that wait. Those to one stream keep their order: the next one is taken when the one
/// before is settled.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    wake: Notify,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Job>,
    /// The streams with an append in a transaction.
    busy: HashSet<Uuid>,
    closed: bool,
}

impl Queue {
    /// Adds an append. Its caller gets an error if the queue is closed.
    pub(crate) fn put(&self, job: Job) {
        let mut state = self.state();
        if state.closed {
            // The caller may be gone.
            let _ = job.reply.send(Err(Error::Closed));
            return;
        }
        state.waiting.push_back(job);
        drop(state);
        self.wake.notify_one();
    }

    /// Takes the appends of the next transaction, at most one of each stream. Returns `None` when
    /// the queue is closed and empty.
    pub(crate) async fn take(&self) -> Option<Vec<Job>> {
        loop {
            let woken = self.wake.notified();
            {
                let mut state = self.state();
                let jobs = state.next();
                if !jobs.is_empty() {
                    if !state.waiting.is_empty() {
                        self.wake.notify_one();
                    }
                    return Some(jobs);
                }
                if state.closed && state.waiting.is_empty() {
                    self.wake.notify_one();
                    return None;
                }
            }
            woken.await;
        }
    }

    /// Notes that the appends to these streams are settled.
    pub(crate) fn settled(&self, sessions: &[Uuid]) {
        let mut state = self.state();
        for session in sessions {
            state.busy.remove(session);
        }
        let more = !state.waiting.is_empty() || state.closed;
        drop(state);
        if more {
            self.wake.notify_one();
        }
    }

    /// Accepts no further append.
    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.wake.notify_one();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn next(&mut self) -> Vec<Job> {
        let (mut jobs, mut bytes) = (Vec::new(), 0);
        let mut left = VecDeque::new();
        // A stream that is passed over once stays so, or its appends would change places.
        let mut passed = HashSet::new();
        while let Some(job) = self.waiting.pop_front() {
            let session = job.append.session;
            let full = jobs.len() >= APPENDS || bytes >= BYTES;
            if full {
                left.push_back(job);
                break;
            }
            if passed.contains(&session) || !self.busy.insert(session) {
                passed.insert(session);
                left.push_back(job);
                continue;
            }
            bytes += job.size();
            jobs.push(job);
        }
        left.append(&mut self.waiting);
        self.waiting = left;
        jobs
    }
}
