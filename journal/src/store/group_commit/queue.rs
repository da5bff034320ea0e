//! The queue that the callers, the committer and the indexer share.
//!
//! An append is checked against the head of its stream, counting the appends in the queue. A
//! conflict is therefore reported at once, and an append in the queue cannot be rejected any more.
//! A read waits for the commit of all appends that were admitted before it. It never waits for the
//! index.
//!
//! The holder of the log end commits the queue. That is the committer, or an append in the poll of
//! its caller: while one stream appends and a sync takes no longer than waking two threads.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use futures_channel::oneshot;
use uuid::Uuid;

use super::commit_delay::WakeCondition;
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
use crate::{Append, Durability, Error, Head, Line};

/// The state that is shared between the callers, the committer and the indexer.
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Notified when an append was queued, or the journal is closing.
    pub(super) arrived: Condvar,
    /// Notified when a frame was committed or indexed, or no more frames will come.
    pub(super) indexing: Condvar,
    /// The end of the log, until the committer has closed it. Lock it before `state`.
    pub(in crate::store) end: Mutex<Option<LogEnd>>,
    pub(in crate::store) floor: Floor,
    pub(in crate::store) log: LogFiles,
}

/// The outcome of an attempt to queue an append.
enum Submitted {
    Buffered,
    Durable(oneshot::Receiver<Result<Head, Error>>),
    QueueFull(oneshot::Receiver<()>),
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
            // One process writes this journal.
            carries_out: _,
        } = append;
        let leaves = lines.iter().map(Line::leaf).collect();
        // Freed here, while they are in the CPU cache, and not after the commit.
        drop((lines, objects));
        let mut queued = Some(Queued {
            bytes: encoded.bytes,
            added: Added {
                session,
                first: expected.saturating_add(1),
                head: admission.head,
                work: open_work,
                objects: encoded.objects,
            },
            leaves,
            ack: None,
        });
        loop {
            match self.try_enqueue(&admission, &mut queued, durability)? {
                Submitted::Buffered => return Ok(admission.head),
                Submitted::Durable(acknowledged) => {
                    return acknowledged
                        .await
                        .unwrap_or_else(|_| Err(self.state().broken()));
                }
                Submitted::QueueFull(room) => {
                    // Room in the queue, or a failure that the next iteration reports.
                    let _either = room.await;
                }
            }
        }
    }

    /// Encodes an append, without the objects that the journal already has.
    fn encode(&self, append: &Append) -> Result<Encoded, Error> {
        let mut kept = Vec::new();
        for object in &append.objects {
            let (index, here) = {
                let state = self.state();
                (state.usable()?, state.view.object(&object.hash).is_some())
            };
            // An index error counts as "no": storing an object twice does no harm.
            if here
                || index
                    .object(&object.hash)
                    .is_ok_and(|place| place.is_some())
            {
                kept.push(object.hash);
            }
        }
        Ok(crate::log::encode_append(append, |hash| {
            kept.contains(hash)
        }))
    }

    /// Queues an append, and commits it here or wakes the committer if needed.
    fn try_enqueue(
        &self,
        admission: &Admission,
        queued: &mut Option<Queued>,
        durability: Durability,
    ) -> Result<Submitted, Error> {
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
            let newly_awaited = state.mark_awaited();
            drop(state);
            if newly_awaited {
                self.arrived.notify_one();
            }
            return Ok(Submitted::QueueFull(room));
        }
        let (ack, submitted) = match durability {
            Durability::Buffered => (None, Submitted::Buffered),
            Durability::Durable => {
                let (ack, acknowledged) = oneshot::channel();
                (Some(ack), Submitted::Durable(acknowledged))
            }
        };
        let wakes_idle = state.queue.is_empty() && state.wake_condition == WakeCondition::AnyAppend;
        let newly_awaited = ack.is_some() && state.mark_awaited();
        let had_full_batch = state.has_full_batch();
        if let Some(queued) = queued.take() {
            state.enqueue(Queued { ack, ..queued });
        }
        let fills_batch = !had_full_batch && state.has_full_batch();
        drop(state);
        if !(newly_awaited && self.commit_in_place(session))
            && (wakes_idle || newly_awaited || fills_batch)
        {
            self.arrived.notify_one();
        }
        Ok(submitted)
    }

    /// Waits until every append admitted so far is committed.
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
            let newly_awaited = !state.queue.is_empty() && state.mark_awaited();
            drop(state);
            if newly_awaited {
                self.arrived.notify_one();
            }
            settled
        };
        // The commit, or a failure that the next line reports.
        let _either = settled.await;
        let state = self.state();
        state
            .usable()
            .and_then(|index| state.full().map(|()| index))
    }

    /// Waits until a frame after this one is committed.
    pub(crate) async fn committed_after(&self, frame: u64) -> Result<Arc<Index>, Error> {
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
            // A commit, or a failure that the next iteration reports.
            let _either = committed.await;
        }
    }

    /// Commits the queue on this thread, if the log end is free and that is faster than waking the
    /// committer. Returns true if the queue is empty afterwards.
    pub(super) fn commit_in_place(&self, stream: Uuid) -> bool {
        let Ok(mut end) = self.end.try_lock() else {
            return false;
        };
        let Some(end) = end.as_mut().filter(|end| end.is_single_writer(stream)) else {
            return false;
        };
        let (appends, all) = {
            let mut state = self.state();
            if !end.can_commit_in_place(&state) {
                return false;
            }
            (state.take(), state.queue.is_empty())
        };
        // The queue may be empty: another commit took the appends, or all of them were rejected.
        if !appends.is_empty() && end.commit(self, appends).is_err() {
            // The committer must release everything.
            self.arrived.notify_all();
            return true;
        }
        all
    }

    /// Starts the close; the committer finishes it.
    pub(crate) fn close(&self) {
        self.state().closing = true;
        self.arrived.notify_all();
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
