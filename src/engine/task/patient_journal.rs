//! A journal whose readings wait for room on the disk, and the wait itself.
//!
//! A full disk refuses an append before anything of it is written, so `record/full_disk` makes the
//! same append again until there is room. The connection stays meanwhile, and the model hears the
//! outcome of its call then. Callers are refused at once, before their request becomes a part of
//! the session.

use std::sync::Arc;
use std::time::Duration;

use recount_journal::{
    Append, BoxFuture, Commit, Error as JournalError, Hash, Head, Journal, Line, OpenItem, Span,
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::ledger::Ledger;

/// The pause before the first try to write again, which doubles from try to try.
pub(super) const PAUSE: Duration = Duration::from_millis(50);

/// The longest pause between two tries.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// The wait for room on the disk, which an engine that shuts down ends for all its sessions.
#[derive(Clone, Debug, Default)]
pub(in crate::engine) struct RoomWait {
    ended: CancellationToken,
}

impl RoomWait {
    /// Ends every wait: what has no room by now fails.
    pub(in crate::engine) fn end(&self) {
        self.ended.cancel();
    }

    /// Pauses before another try. False once no wait goes on.
    pub(in crate::engine) async fn pause(&self, pause: &mut Duration) -> bool {
        tokio::select! {
            biased;
            () = self.ended.cancelled() => false,
            () = tokio::time::sleep(*pause) => {
                *pause = pause.saturating_mul(2).min(PAUSE_MAX);
                true
            }
        }
    }
}

/// The ledger of the sessions' tasks, whose readings wait for room where appends of before wait.
pub(in crate::engine) fn ledger_of_tasks(ledger: &Ledger, room: &RoomWait) -> Ledger {
    let journal = PatientJournal {
        inner: ledger.journal().clone(),
        room: room.clone(),
    };
    ledger.clone().over(Arc::new(journal))
}

/// A journal that is read again where the disk has no room.
///
/// A reading follows the buffered appends of before, so it is refused while those cannot be
/// written.
struct PatientJournal {
    pub(in crate::engine) inner: Arc<dyn Journal>,
    pub(in crate::engine) room: RoomWait,
}

impl PatientJournal {
    fn patiently<'j, T: Send>(
        &'j self,
        read: impl Fn() -> BoxFuture<'j, Result<T, JournalError>> + Send + 'j,
    ) -> BoxFuture<'j, Result<T, JournalError>> {
        Box::pin(async move {
            let mut pause = PAUSE;
            loop {
                match read().await {
                    Err(error @ JournalError::NoSpace { .. }) => {
                        if !self.room.pause(&mut pause).await {
                            return Err(error);
                        }
                    }
                    done => return done,
                }
            }
        })
    }
}

impl Journal for PatientJournal {
    fn append(&self, append: Append) -> BoxFuture<'_, Result<Head, JournalError>> {
        // What was refused is gone, so the session makes it again.
        self.inner.append(append)
    }

    fn read(
        &self,
        session: Uuid,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Line>, JournalError>> {
        self.patiently(move || self.inner.read(session, from, limit))
    }

    fn read_each(&self, spans: Vec<Span>) -> BoxFuture<'_, Result<Vec<Vec<Line>>, JournalError>> {
        self.patiently(move || self.inner.read_each(spans.clone()))
    }

    fn head(&self, session: Uuid) -> BoxFuture<'_, Result<Option<Head>, JournalError>> {
        self.patiently(move || self.inner.head(session))
    }

    fn sessions(
        &self,
        after: Option<Uuid>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<(Uuid, Head)>, JournalError>> {
        self.patiently(move || self.inner.sessions(after, limit))
    }

    fn open_work(
        &self,
        after: Option<(Uuid, u64)>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<OpenItem>, JournalError>> {
        self.patiently(move || self.inner.open_work(after, limit))
    }

    fn open_work_of(&self, session: Uuid) -> BoxFuture<'_, Result<Vec<OpenItem>, JournalError>> {
        self.patiently(move || self.inner.open_work_of(session))
    }

    fn deadlines(
        &self,
        until_us: i64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<OpenItem>, JournalError>> {
        self.patiently(move || self.inner.deadlines(until_us, limit))
    }

    fn request(&self, request: Uuid) -> BoxFuture<'_, Result<Option<(Uuid, u64)>, JournalError>> {
        self.patiently(move || self.inner.request(request))
    }

    fn object(&self, hash: Hash) -> BoxFuture<'_, Result<Option<Arc<[u8]>>, JournalError>> {
        self.patiently(move || self.inner.object(hash))
    }

    fn follow(&self, after: u64) -> BoxFuture<'_, Result<Commit, JournalError>> {
        self.inner.follow(after)
    }

    fn position(&self) -> BoxFuture<'_, Result<u64, JournalError>> {
        self.patiently(move || self.inner.position())
    }

    fn snapshot(&self, session: Uuid) -> BoxFuture<'_, Result<Option<Vec<u8>>, JournalError>> {
        self.inner.snapshot(session)
    }

    fn keep_snapshot(
        &self,
        session: Uuid,
        bytes: Vec<u8>,
    ) -> BoxFuture<'_, Result<(), JournalError>> {
        // A cache that is not kept is no loss.
        self.inner.keep_snapshot(session, bytes)
    }

    fn room(&self) -> Result<(), JournalError> {
        self.inner.room()
    }

    fn is_durable(&self) -> bool {
        self.inner.is_durable()
    }

    fn close(&self) -> BoxFuture<'_, Result<(), JournalError>> {
        self.inner.close()
    }
}
