//! What the callers, the committer and the indexer share: the queue, the view of what is committed, the frames the index has not yet.
//!
//! An append is admitted against the head that all queued appends lead to, so a conflict is told at once and what is
//! in the queue cannot be refused any more. Reads wait until everything admitted before them is committed, never for the index.
//!
//! Whoever holds the end of the log commits what is queued: its thread, or an append that is alone while a sync takes no longer
//! than waking two threads would.

mod full_disk;
mod queued;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use futures_channel::oneshot;
use uuid::Uuid;

use super::company::Company;
use super::end::LogEnd;
use super::floor::Floor;
use super::metrics::{Meter, Metrics};
use crate::index::Index;
use crate::log::{Block, Encoded, LogFiles};
use crate::records::admission::Admission;
use crate::store::directory::lock::Lock;
use crate::view::{Added, View};
use crate::{Append, Durability, Error, Head};
pub(crate) use queued::Queued;

/// What the queue holds before appends have to wait for room.
const QUEUE_LIMIT: (usize, usize) = (4_096, 32 << 20);
/// What one commit takes from the queue.
pub(super) const COMMIT_LIMIT: (usize, usize) = (1_024, 2 << 20);

/// The meeting place.
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Something came into the queue, or the journal is closing.
    pub(super) arrived: Condvar,
    /// Frames came for the index, went into it, or no more will come.
    pub(super) indexing: Condvar,
    /// Until its thread has closed it. Who wants the state too takes this first.
    pub(in crate::store) end: Mutex<Option<LogEnd>>,
    pub(in crate::store) floor: Floor,
    pub(in crate::store) log: LogFiles,
}

/// All that changes.
pub(crate) struct State {
    /// What is committed.
    pub(crate) view: View,
    /// The frames that the index does not have yet, oldest first.
    pub(crate) unindexed: VecDeque<(u64, Arc<Block>)>,
    pub(crate) unindexed_bytes: usize,
    pub(crate) meter: Meter,
    pub(crate) closing: bool,
    /// The committer has written its last frame.
    pub(crate) complete: bool,
    /// Where streams with appends in the queue will be when it is empty.
    heads: HashMap<Uuid, Head>,
    pub(in crate::store) queue: VecDeque<Queued>,
    pub(super) queued_bytes: usize,
    /// Somebody waits for what is in the queue.
    pub(super) pressing: bool,
    /// What the committer waits for before it commits what is in the queue.
    pub(super) company: Company,
    admitted: u64,
    committed: u64,
    readers: Vec<(u64, oneshot::Sender<()>)>,
    followers: Vec<oneshot::Sender<()>>,
    waiting_for_room: Vec<oneshot::Sender<()>>,
    index: Option<Arc<Index>>,
    lock: Option<Lock>,
    failure: Option<String>,
    /// The free bytes and the floor of a disk that had no room for the last commit.
    full: Option<(u64, u64)>,
    /// A read met something in log or index that is not as it should be: the next opening must look at all of it.
    pub(crate) doubted: bool,
}

/// What became of an append that was offered to the queue.
enum Offer {
    Queued,
    Promised(oneshot::Receiver<Result<Head, Error>>),
    Full(oneshot::Receiver<()>),
}

impl Shared {
    pub(crate) fn new(
        view: View,
        index: Arc<Index>,
        lock: Lock,
        end: Option<LogEnd>,
        floor: Floor,
        log: LogFiles,
    ) -> Self {
        let state = State {
            view,
            unindexed: VecDeque::new(),
            unindexed_bytes: 0,
            meter: Meter::default(),
            closing: false,
            complete: false,
            heads: HashMap::new(),
            queue: VecDeque::new(),
            queued_bytes: 0,
            pressing: false,
            company: Company::Nobody,
            admitted: 0,
            committed: 0,
            readers: Vec::new(),
            followers: Vec::new(),
            waiting_for_room: Vec::new(),
            index: Some(index),
            lock: Some(lock),
            failure: None,
            full: None,
            doubted: false,
        };
        Self {
            state: Mutex::new(state),
            arrived: Condvar::new(),
            indexing: Condvar::new(),
            end: Mutex::new(end),
            floor,
            log,
        }
    }

    /// Admits an append, queues it, and waits for its commit unless it is buffered.
    pub(crate) async fn submit(&self, append: Append) -> Result<Head, Error> {
        let admission = Admission::of(&append)?;
        self.floor.check()?;
        let encoded = self.encode(&append)?;
        let Append {
            session,
            expected,
            lines,
            objects,
            open_work,
            durability,
        } = append;
        // Freed now, while they are in the processor's cache, and not after the commit.
        drop((lines, objects));
        let mut queued = Some(Queued {
            entry: encoded.bytes,
            added: Added {
                session,
                first: expected.saturating_add(1),
                head: admission.head,
                work: open_work,
                objects: encoded.objects,
            },
            ack: None,
        });
        loop {
            match self.offer(&admission, &mut queued, durability)? {
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

    /// The bytes of an append, without the objects that are there already.
    fn encode(&self, append: &Append) -> Result<Encoded, Error> {
        let mut kept = Vec::new();
        for object in &append.objects {
            let (index, here) = {
                let state = self.state();
                (state.usable()?, state.view.object(&object.hash).is_some())
            };
            // A doubt counts as no: an object that is there twice does no harm.
            if here
                || index
                    .object(&object.hash)
                    .is_ok_and(|place| place.is_some())
            {
                kept.push(object.hash);
            }
        }
        Ok(crate::log::encode_entry(append, |hash| kept.contains(hash)))
    }

    fn offer(
        &self,
        admission: &Admission,
        queued: &mut Option<Queued>,
        durability: Durability,
    ) -> Result<Offer, Error> {
        let mut state = self.state();
        let index = state.usable()?;
        if state.closing {
            return Err(Error::Closed);
        }
        let session = queued.as_ref().map(|queued| queued.added.session);
        let session = session.unwrap_or_default();
        let head = state.admitted_head(session, &index)?;
        admission.follows(head.as_ref())?;
        if state.queue.len() >= QUEUE_LIMIT.0 || state.queued_bytes >= QUEUE_LIMIT.1 {
            state.full()?;
            let (free, room) = oneshot::channel();
            state.waiting_for_room.push(free);
            let presses = state.press();
            drop(state);
            if presses {
                self.arrived.notify_one();
            }
            return Ok(Offer::Full(room));
        }
        let (ack, offer) = match durability {
            Durability::Buffered => (None, Offer::Queued),
            Durability::Durable => {
                let (ack, acknowledged) = oneshot::channel();
                (Some(ack), Offer::Promised(acknowledged))
            }
        };
        let begins = state.queue.is_empty() && state.company == Company::Nobody;
        let presses = ack.is_some() && state.press();
        let was_complete = state.has_crowd();
        if let Some(queued) = queued.take() {
            state.enqueue(Queued { ack, ..queued });
        }
        let completes = !was_complete && state.has_crowd();
        drop(state);
        if !(presses && self.commit_here(session)) && (begins || presses || completes) {
            self.arrived.notify_one();
        }
        Ok(offer)
    }

    /// Waits until everything admitted so far is committed.
    pub(crate) async fn settled(&self) -> Result<Arc<Index>, Error> {
        let settled = {
            let mut state = self.state();
            let index = state.usable()?;
            if state.committed >= state.admitted {
                return Ok(index);
            }
            let (tell, settled) = oneshot::channel();
            let ticket = state.admitted;
            state.readers.push((ticket, tell));
            let presses = !state.queue.is_empty() && state.press();
            drop(state);
            if presses {
                self.arrived.notify_one();
            }
            settled
        };
        // Settled, or a failure that the next line tells.
        let _either = settled.await;
        let state = self.state();
        state
            .usable()
            .and_then(|index| state.full().map(|()| index))
    }

    /// Waits until a frame behind this one is committed.
    pub(crate) async fn committed_behind(&self, frame: u64) -> Result<Arc<Index>, Error> {
        loop {
            let committed = {
                let mut state = self.state();
                let index = state.usable()?;
                if state.view.last.number > frame {
                    return Ok(index);
                }
                let (tell, committed) = oneshot::channel();
                state.followers.retain(|follower| !follower.is_canceled());
                state.followers.push(tell);
                committed
            };
            // A commit, or a failure that the next round tells.
            let _either = committed.await;
        }
    }

    /// Commits what is queued, if nobody is at it and it takes no longer than waking who would, and says whether nothing is left.
    pub(super) fn commit_here(&self, stream: Uuid) -> bool {
        let Ok(mut end) = self.end.try_lock() else {
            return false;
        };
        let Some(end) = end.as_mut().filter(|end| end.is_alone(stream)) else {
            return false;
        };
        let (appends, all) = {
            let mut state = self.state();
            if !end.is_swift(&state) {
                return false;
            }
            (state.take(), state.queue.is_empty())
        };
        // It may have been taken along meanwhile, or been refused with all others.
        if !appends.is_empty() && end.commit(self, appends).is_err() {
            // The thread has to let go of everything.
            self.arrived.notify_all();
            return true;
        }
        all
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
    /// Where a stream will be when the queue is empty.
    fn admitted_head(&mut self, session: Uuid, index: &Index) -> Result<Option<Head>, Error> {
        if let Some(head) = self.heads.get(&session) {
            return Ok(Some(*head));
        }
        let stream = self.view.stream(session, Some(index))?;
        Ok(stream.map(|stream| stream.head))
    }

    fn enqueue(&mut self, queued: Queued) {
        self.heads.insert(queued.added.session, queued.added.head);
        self.queued_bytes += queued.entry.len();
        self.admitted += 1;
        self.queue.push_back(queued);
        self.meter.queued(self.queue.len());
    }

    /// What the next commit takes. Whoever asks holds the end of the log, so that commits keep the order of the queue.
    pub(in crate::store) fn take(&mut self) -> Vec<Queued> {
        let mut bytes = 0;
        let mut taken = Vec::with_capacity(self.queue.len().min(COMMIT_LIMIT.0));
        while taken.len() < COMMIT_LIMIT.0 && bytes < COMMIT_LIMIT.1 {
            let Some(queued) = self.queue.pop_front() else {
                break;
            };
            bytes += queued.entry.len();
            taken.push(queued);
        }
        self.queued_bytes = self.queued_bytes.saturating_sub(bytes);
        self.pressing &= !self.queue.is_empty();
        self.waiting_for_room.clear();
        taken
    }

    /// Whether nothing can come into the queue any more, and nothing is in it.
    pub(super) fn is_over(&self) -> bool {
        self.closing && self.queue.is_empty()
    }

    /// The bytes of what is queued.
    pub(super) fn queued_bytes(&self) -> usize {
        self.queued_bytes
    }

    /// Says that somebody waits for what is in the queue, and whether that is news to the committer.
    fn press(&mut self) -> bool {
        let pressed = std::mem::replace(&mut self.pressing, true);
        match self.company {
            Company::Nobody | Company::Pressing => !pressed,
            Company::Crowd(_) => false,
        }
    }

    /// Whether as much is in the queue as the committer waits for where a crowd appends.
    pub(super) fn has_crowd(&self) -> bool {
        match self.company {
            Company::Nobody | Company::Pressing => false,
            Company::Crowd(appends) => {
                self.queue.len() >= appends || self.queued_bytes >= COMMIT_LIMIT.1
            }
        }
    }

    /// Takes committed appends into the view, and tells those who wait for that.
    pub(crate) fn commit(
        &mut self,
        appends: &[Queued],
        block: &Arc<Block>,
        index: &Index,
    ) -> Result<(), Error> {
        let frame = self.view.last.frame(block);
        for (queued, (place, _, _)) in appends.iter().zip(block.entries()) {
            let added = &queued.added;
            self.view.add(frame, place, added, Some(index))?;
            if self.heads.get(&added.session) == Some(&added.head) {
                self.heads.remove(&added.session);
            }
        }
        self.unindexed.push_back((frame.number, Arc::clone(block)));
        self.unindexed_bytes += block.0.len();
        self.committed += appends.len() as u64;
        self.full = None;
        let committed = self.committed;
        self.readers
            .retain(|(ticket, tell)| *ticket > committed && !tell.is_canceled());
        self.followers.clear();
        Ok(())
    }

    /// A committed frame that the index may not have yet.
    pub(crate) fn unindexed(&self, frame: u64) -> Option<Arc<Block>> {
        let first = self.unindexed.front()?.0;
        let at = usize::try_from(frame.checked_sub(first)?).ok()?;
        self.unindexed.get(at).map(|(_, block)| Arc::clone(block))
    }

    /// Stops everything after a failure: nothing is acknowledged or answered from here on. Returns the cause, which is that of the
    /// first failure.
    pub(crate) fn fail(&mut self, cause: String) -> String {
        let failure = self.failure.get_or_insert(cause).clone();
        for queued in self.queue.drain(..) {
            queued.refuse(&failure);
        }
        self.stop();
        failure
    }

    /// Lets go of the index and says whether it was there; who still reads keeps it a little longer.
    pub(in crate::store) fn let_index_go(&mut self) -> bool {
        self.index.take().is_some()
    }

    /// Lets go of the index and the directory. A commit that is on its way must have come to its end: who takes the
    /// directory next cuts off the log what is not finished.
    pub(crate) fn release(&mut self) {
        self.stop();
        self.lock = None;
    }

    fn stop(&mut self) {
        self.closing = true;
        self.complete = true;
        self.readers.clear();
        self.followers.clear();
        self.waiting_for_room.clear();
        self.index = None;
    }

    pub(in crate::store) fn metrics(&self) -> Metrics {
        self.meter.read(self.queue.len(), self.unindexed_bytes)
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some()
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
