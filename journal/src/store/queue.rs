//! What the callers and the committer share: the queue between them, the heads, the open work.
//!
//! An append is admitted against the head that all queued appends lead to, so a conflict is told at once and what is
//! in the queue cannot be refused any more. Reads wait until the index holds all that was admitted before them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use futures_channel::oneshot;
use uuid::Uuid;

use super::directory::Lock;
use crate::admission::Admission;
use crate::index::Index;
use crate::open_work::OpenWork;
use crate::{Append, Durability, Error, Head};

/// What the queue holds before appends have to wait for room.
const QUEUE_LIMIT: (usize, usize) = (4_096, 32 << 20);
/// What one commit takes from the queue.
const COMMIT_LIMIT: (usize, usize) = (256, 1 << 20);

/// The meeting place.
pub(crate) struct Shared {
    state: Mutex<State>,
    arrived: Condvar,
}

/// All that changes.
pub(crate) struct State {
    /// Where each stream will be when the queue is empty.
    pub(crate) heads: BTreeMap<Uuid, Head>,
    /// What is open according to all that is committed.
    pub(crate) work: OpenWork,
    pub(crate) closing: bool,
    queue: VecDeque<Queued>,
    queued_bytes: usize,
    admitted: u64,
    settled: u64,
    readers: Vec<(u64, oneshot::Sender<()>)>,
    waiting_for_room: Vec<oneshot::Sender<()>>,
    index: Option<Arc<Index>>,
    lock: Option<Lock>,
    failure: Option<String>,
}

/// One append on its way.
pub(crate) struct Queued {
    pub(crate) entry: Vec<u8>,
    pub(crate) head: Head,
    ack: Option<oneshot::Sender<Result<Head, Error>>>,
}

/// What became of an append that was offered to the queue.
enum Offer {
    Queued,
    Promised(oneshot::Receiver<Result<Head, Error>>),
    Full(oneshot::Receiver<()>),
}

impl Shared {
    pub(crate) fn new(
        heads: BTreeMap<Uuid, Head>,
        work: OpenWork,
        index: Arc<Index>,
        lock: Lock,
    ) -> Self {
        let state = State {
            heads,
            work,
            closing: false,
            queue: VecDeque::new(),
            queued_bytes: 0,
            admitted: 0,
            settled: 0,
            readers: Vec::new(),
            waiting_for_room: Vec::new(),
            index: Some(index),
            lock: Some(lock),
            failure: None,
        };
        Self {
            state: Mutex::new(state),
            arrived: Condvar::new(),
        }
    }

    /// Admits an append, queues it, and waits for its commit unless it is buffered.
    pub(crate) async fn submit(&self, append: Append) -> Result<Head, Error> {
        let admission = Admission::of(&append)?;
        let index = self.state().usable()?;
        let entry = crate::log::encode_entry(&append, |hash| index.has_object(hash));
        // Held across the wait, it would outlive a close.
        drop(index);
        let (session, durability) = (append.session, append.durability);
        drop(append);
        let mut entry = Some(entry);
        loop {
            match self.offer(session, &admission, &mut entry, durability)? {
                Offer::Queued => return Ok(admission.head),
                Offer::Promised(acknowledged) => {
                    return acknowledged
                        .await
                        .unwrap_or_else(|_| Err(self.state().broken()));
                }
                Offer::Full(room) => {
                    // Room, or a failure that the next round tells.
                    let _either = room.await;
                }
            }
        }
    }

    fn offer(
        &self,
        session: Uuid,
        admission: &Admission,
        entry: &mut Option<Vec<u8>>,
        durability: Durability,
    ) -> Result<Offer, Error> {
        let mut state = self.state();
        state.usable()?;
        if state.closing {
            return Err(Error::Closed);
        }
        admission.follows(state.heads.get(&session))?;
        if state.queue.len() >= QUEUE_LIMIT.0 || state.queued_bytes >= QUEUE_LIMIT.1 {
            let (free, room) = oneshot::channel();
            state.waiting_for_room.push(free);
            return Ok(Offer::Full(room));
        }
        let (ack, offer) = match durability {
            Durability::Buffered => (None, Offer::Queued),
            Durability::Durable => {
                let (ack, acknowledged) = oneshot::channel();
                (Some(ack), Offer::Promised(acknowledged))
            }
        };
        state.enqueue(
            session,
            Queued {
                entry: entry.take().unwrap_or_default(),
                head: admission.head,
                ack,
            },
        );
        drop(state);
        self.arrived.notify_one();
        Ok(offer)
    }

    /// Waits until the index and the open work hold everything admitted so far.
    pub(crate) async fn settled(&self) -> Result<Arc<Index>, Error> {
        let settled = {
            let mut state = self.state();
            let index = state.usable()?;
            if state.settled >= state.admitted {
                return Ok(index);
            }
            let (tell, settled) = oneshot::channel();
            let ticket = state.admitted;
            state.readers.push((ticket, tell));
            settled
        };
        // Settled, or a failure that the next line tells.
        let _either = settled.await;
        self.state().usable()
    }

    /// Waits for work: some appends, or none once the journal is closing and the queue is empty.
    pub(crate) fn next(&self) -> Vec<Queued> {
        let mut state = self.state();
        while state.queue.is_empty() && !state.closing {
            state = self
                .arrived
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        let mut bytes = 0;
        let mut taken = Vec::new();
        while taken.len() < COMMIT_LIMIT.0 && bytes < COMMIT_LIMIT.1 {
            let Some(queued) = state.queue.pop_front() else {
                break;
            };
            bytes += queued.entry.len();
            taken.push(queued);
        }
        state.queued_bytes = state.queued_bytes.saturating_sub(bytes);
        state.waiting_for_room.clear();
        taken
    }

    /// Begins to close; the committer does the rest.
    pub(crate) fn close(&self) {
        self.state().closing = true;
        self.arrived.notify_all();
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn enqueue(&mut self, session: Uuid, queued: Queued) {
        self.heads.insert(session, queued.head);
        self.queued_bytes += queued.entry.len();
        self.admitted += 1;
        self.queue.push_back(queued);
    }

    /// Tells those who wait for reading that so many more appends are in the index.
    pub(crate) fn settle(&mut self, appends: usize) {
        self.settled += appends as u64;
        let settled = self.settled;
        self.readers
            .retain(|(ticket, tell)| *ticket > settled && !tell.is_canceled());
    }

    /// Stops everything after a failure: nothing is acknowledged or answered from here on.
    pub(crate) fn fail(&mut self, cause: String) {
        let failure = self.failure.get_or_insert(cause).clone();
        for queued in self.queue.drain(..) {
            queued.refuse(&failure);
        }
        self.release();
    }

    /// Lets go of the index and the directory.
    pub(crate) fn release(&mut self) {
        self.closing = true;
        self.readers.clear();
        self.waiting_for_room.clear();
        self.index = None;
        self.lock = None;
    }

    /// The index, or why there is none.
    pub(crate) fn usable(&self) -> Result<Arc<Index>, Error> {
        self.index
            .clone()
            .filter(|_| self.failure.is_none())
            .ok_or_else(|| self.broken())
    }

    /// How the journal ended, if it failed.
    pub(crate) fn outcome(&self) -> Result<(), Error> {
        self.failure
            .clone()
            .map_or(Ok(()), |cause| Err(Error::Poisoned { cause }))
    }

    fn broken(&self) -> Error {
        self.outcome().err().unwrap_or(Error::Closed)
    }
}

impl Queued {
    pub(crate) fn acknowledge(&mut self) {
        if let Some(ack) = self.ack.take() {
            // A caller who no longer waits has lost nothing.
            let _gone = ack.send(Ok(self.head));
        }
    }

    pub(crate) fn refuse(self, cause: &str) {
        if let Some(ack) = self.ack {
            let _gone = ack.send(Err(Error::Poisoned {
                cause: cause.to_owned(),
            }));
        }
    }
}
