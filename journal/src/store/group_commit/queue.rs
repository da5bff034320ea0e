//! What the callers, the committer and the indexer share: the queue, the view of what is committed,
//! the frames the index has not yet.
//!
//! An append is admitted against the head that all queued appends lead to, so a conflict is told at
//! once and what is in the queue cannot be refused any more. Reads wait until everything admitted
//! before them is committed, never for the index.
//!
//! Whoever holds the end of the log commits what is queued: its thread, or an append that is alone
//! while a sync takes no longer than waking two threads would.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use futures_channel::oneshot;
use uuid::Uuid;

use super::company::Company;
use super::floor::Floor;
use super::limits::QUEUE_LIMIT;
use super::log_end::LogEnd;
use super::queued::Queued;
use super::state::State;
use crate::index::Index;
use crate::log::{Encoded, LogFiles};
use crate::records::admission::Admission;
use crate::store::directory::lock::Lock;
use crate::view::{Added, View};
use crate::{Append, Durability, Error, Head};

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
        Self {
            state: Mutex::new(State::new(view, index, lock)),
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

    /// Commits what is queued, if nobody is at it and it takes no longer than waking who would, and
    /// says whether nothing is left.
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
