//! The state under the lock: the queue, the view, the unindexed frames, and the waiting callers.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use futures_channel::oneshot;
use uuid::Uuid;

use super::commit_delay::WakeCondition;
use super::limits::COMMIT_LIMIT;
use super::metrics::{Meter, Metrics};
use super::queued::Queued;
use crate::index::Index;
use crate::log::FrameBytes;
use crate::store::directory::lock::Lock;
use crate::view::View;
use crate::{Error, Hash, Head};

/// A committed frame that is in memory until the index has it.
#[derive(Clone)]
pub(crate) struct Unindexed {
    pub(crate) number: u64,
    pub(crate) bytes: Arc<FrameBytes>,
    /// The leaf hash of each of its records, so that no follower computes it again.
    pub(crate) leaves: Arc<[Hash]>,
}

/// The mutable state of an open journal.
pub(crate) struct State {
    /// The view of all committed frames.
    pub(crate) view: View,
    /// The frames that the index does not have yet, oldest first.
    pub(crate) unindexed: VecDeque<Unindexed>,
    pub(crate) unindexed_bytes: usize,
    pub(crate) meter: Meter,
    pub(crate) closing: bool,
    /// Set once the committer has written its last frame.
    pub(crate) complete: bool,
    /// The head of each stream, counting its queued appends.
    pub(super) heads: HashMap<Uuid, Head>,
    pub(in crate::store) queue: VecDeque<Queued>,
    pub(super) queued_bytes: usize,
    /// True if a caller waits for an append in the queue.
    pub(super) awaited: bool,
    /// The condition that wakes the committer.
    pub(super) wake_condition: WakeCondition,
    pub(super) admitted: u64,
    pub(super) committed: u64,
    pub(super) readers: Vec<(u64, oneshot::Sender<()>)>,
    pub(super) followers: Vec<oneshot::Sender<()>>,
    pub(super) waiting_for_room: Vec<oneshot::Sender<()>>,
    index: Option<Arc<Index>>,
    lock: Option<Lock>,
    failure: Option<String>,
    /// The free bytes and the floor of a disk that had no room for the last commit.
    pub(super) full: Option<(u64, u64)>,
    /// Set once a read found a fault in the log or the index. The next opening must check all of
    /// both.
    pub(crate) needs_full_check: bool,
}

impl State {
    /// The state of a journal that was just opened.
    pub(super) fn new(view: View, index: Arc<Index>, lock: Lock) -> Self {
        Self {
            view,
            unindexed: VecDeque::new(),
            unindexed_bytes: 0,
            meter: Meter::default(),
            closing: false,
            complete: false,
            heads: HashMap::new(),
            queue: VecDeque::new(),
            queued_bytes: 0,
            awaited: false,
            wake_condition: WakeCondition::AnyAppend,
            admitted: 0,
            committed: 0,
            readers: Vec::new(),
            followers: Vec::new(),
            waiting_for_room: Vec::new(),
            index: Some(index),
            lock: Some(lock),
            failure: None,
            full: None,
            needs_full_check: false,
        }
    }

    /// The head of a stream, counting its queued appends.
    pub(super) fn admitted_head(
        &mut self,
        session: Uuid,
        index: &Index,
    ) -> Result<Option<Head>, Error> {
        if let Some(head) = self.heads.get(&session) {
            return Ok(Some(*head));
        }
        let stream = self.view.stream(session, Some(index))?;
        Ok(stream.map(|stream| stream.head))
    }

    pub(super) fn enqueue(&mut self, queued: Queued) {
        self.heads.insert(queued.added.session, queued.added.head);
        self.queued_bytes += queued.bytes.len();
        self.admitted += 1;
        self.queue.push_back(queued);
        self.meter.queued(self.queue.len());
    }

    /// Takes the appends of the next commit from the queue. The caller holds the log end, so that
    /// commits keep the order of the queue.
    pub(in crate::store) fn take(&mut self) -> Vec<Queued> {
        let mut bytes = 0;
        let mut taken = Vec::with_capacity(self.queue.len().min(COMMIT_LIMIT.0));
        while taken.len() < COMMIT_LIMIT.0 && bytes < COMMIT_LIMIT.1 {
            let Some(queued) = self.queue.pop_front() else {
                break;
            };
            bytes += queued.bytes.len();
            taken.push(queued);
        }
        self.queued_bytes = self.queued_bytes.saturating_sub(bytes);
        self.awaited &= !self.queue.is_empty();
        self.waiting_for_room.clear();
        taken
    }

    /// True if the queue is empty and no append can come into it any more.
    pub(super) fn is_over(&self) -> bool {
        self.closing && self.queue.is_empty()
    }

    /// The bytes of all queued appends.
    pub(super) fn queued_bytes(&self) -> usize {
        self.queued_bytes
    }

    /// Notes that a caller waits for an append in the queue. Returns true if the committer must be
    /// woken for that.
    pub(super) fn mark_awaited(&mut self) -> bool {
        let was_awaited = std::mem::replace(&mut self.awaited, true);
        match self.wake_condition {
            WakeCondition::AnyAppend | WakeCondition::AwaitedAppend => !was_awaited,
            WakeCondition::Batch(_) => false,
        }
    }

    /// True if the queue holds the batch that the committer waits for.
    pub(super) fn has_full_batch(&self) -> bool {
        match self.wake_condition {
            WakeCondition::AnyAppend | WakeCondition::AwaitedAppend => false,
            WakeCondition::Batch(appends) => {
                self.queue.len() >= appends || self.queued_bytes >= COMMIT_LIMIT.1
            }
        }
    }

    /// Adds committed appends to the view, and wakes the callers that wait for them.
    pub(crate) fn commit(
        &mut self,
        appends: &[Queued],
        (frame_bytes, leaves): (&Arc<FrameBytes>, Arc<[Hash]>),
        index: &Index,
    ) -> Result<(), Error> {
        let frame = self.view.last.frame(frame_bytes);
        for (queued, (place, _)) in appends.iter().zip(frame_bytes.written_appends()) {
            let added = &queued.added;
            self.view.add(frame, place, added, Some(index))?;
            if self.heads.get(&added.session) == Some(&added.head) {
                self.heads.remove(&added.session);
            }
        }
        self.unindexed.push_back(Unindexed {
            number: frame.number,
            bytes: Arc::clone(frame_bytes),
            leaves,
        });
        self.unindexed_bytes += frame_bytes.0.len();
        self.committed += appends.len() as u64;
        self.full = None;
        let committed = self.committed;
        self.readers
            .retain(|(ticket, tell)| *ticket > committed && !tell.is_canceled());
        self.followers.clear();
        Ok(())
    }

    /// A committed frame that the index may not have yet.
    pub(crate) fn unindexed(&self, frame: u64) -> Option<&Unindexed> {
        let first = self.unindexed.front()?.number;
        let at = usize::try_from(frame.checked_sub(first)?).ok()?;
        self.unindexed.get(at)
    }

    /// Stops the journal after a failure: nothing is acknowledged or answered any more. Returns the
    /// cause of the first failure.
    pub(crate) fn fail(&mut self, cause: String) -> String {
        let failure = self.failure.get_or_insert(cause).clone();
        for queued in self.queue.drain(..) {
            queued.refuse(&failure);
        }
        self.stop();
        failure
    }

    /// Drops the index and returns whether there was one. Readers that run now keep it a little
    /// longer.
    pub(in crate::store) fn drop_index(&mut self) -> bool {
        self.index.take().is_some()
    }

    /// Drops the index and the lock of the directory. No commit may be running: the next opening
    /// cuts off an unfinished frame.
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

    /// The index, or the error that ended the journal.
    pub(crate) fn usable(&self) -> Result<Arc<Index>, Error> {
        self.index
            .clone()
            .filter(|_| self.failure.is_none())
            .ok_or_else(|| self.broken())
    }

    /// The failure that ended the journal, if there was one.
    pub(crate) fn outcome(&self) -> Result<(), Error> {
        self.failure
            .clone()
            .map_or(Ok(()), |cause| Err(Error::Poisoned { cause }))
    }

    pub(super) fn broken(&self) -> Error {
        self.outcome().err().unwrap_or(Error::Closed)
    }
}
