//! A journal whose reads wait for disk space, and the wait itself.
//!
//! A full disk rejects an append before anything is written. So `record/full_disk` repeats the same
//! append until there is room. Meanwhile the connection stays open, and the model gets the outcome
//! of its call later. Callers are rejected at once, before their request becomes part of the
//! session.

use std::sync::Arc;
use std::time::Duration;

use recount_journal::{
    Append, BoxFuture, Commit, Error as JournalError, Hash, Head, Journal, Line, OpenItem, Sharing,
    Space, Span,
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::ledger::Ledger;

/// The pause before the first retry of a write. It doubles with each retry.
pub(super) const PAUSE: Duration = Duration::from_millis(50);

/// The maximum pause between two retries.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// The wait for disk space. An engine that shuts down ends it for all its sessions.
#[derive(Clone, Debug, Default)]
pub(in crate::engine) struct SpaceWait {
    ended: CancellationToken,
}

impl SpaceWait {
    /// Ends every wait; an append without room then fails.
    pub(in crate::engine) fn end(&self) {
        self.ended.cancel();
    }

    /// Pauses before another retry. False once the waits have ended.
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

/// Returns the ledger of the session tasks. Its reads wait for room when earlier appends do.
pub(in crate::engine) fn ledger_of_tasks(ledger: &Ledger, room: &SpaceWait) -> Ledger {
    let journal = RetryingJournal {
        inner: ledger.journal().clone(),
        room: room.clone(),
    };
    ledger.clone().over(Arc::new(journal))
}

/// A journal that retries reads while the disk is full.
///
/// A read follows earlier buffered appends, so it is rejected while they cannot be written.
struct RetryingJournal {
    pub(in crate::engine) inner: Arc<dyn Journal>,
    pub(in crate::engine) room: SpaceWait,
}

impl RetryingJournal {
    fn retrying<'j, T: Send>(
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

impl Journal for RetryingJournal {
    fn append(&self, append: Append) -> BoxFuture<'_, Result<Head, JournalError>> {
        // A rejected append is dropped, so the session repeats it.
        self.inner.append(append)
    }

    fn read(
        &self,
        session: Uuid,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Line>, JournalError>> {
        self.retrying(move || self.inner.read(session, from, limit))
    }

    fn read_each(&self, spans: Vec<Span>) -> BoxFuture<'_, Result<Vec<Vec<Line>>, JournalError>> {
        self.retrying(move || self.inner.read_each(spans.clone()))
    }

    fn head(&self, session: Uuid) -> BoxFuture<'_, Result<Option<Head>, JournalError>> {
        self.retrying(move || self.inner.head(session))
    }

    fn sessions(
        &self,
        after: Option<Uuid>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<(Uuid, Head)>, JournalError>> {
        self.retrying(move || self.inner.sessions(after, limit))
    }

    fn open_work(
        &self,
        after: Option<(Uuid, u64)>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<OpenItem>, JournalError>> {
        self.retrying(move || self.inner.open_work(after, limit))
    }

    fn open_work_of_kinds<'j>(
        &'j self,
        kinds: &'j [&'j str],
        after: Option<(Uuid, u64)>,
        limit: usize,
    ) -> BoxFuture<'j, Result<Vec<OpenItem>, JournalError>> {
        self.retrying(move || self.inner.open_work_of_kinds(kinds, after, limit))
    }

    fn open_work_of(&self, session: Uuid) -> BoxFuture<'_, Result<Vec<OpenItem>, JournalError>> {
        self.retrying(move || self.inner.open_work_of(session))
    }

    fn deadlines(
        &self,
        until_us: i64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<OpenItem>, JournalError>> {
        self.retrying(move || self.inner.deadlines(until_us, limit))
    }

    fn request(&self, request: Uuid) -> BoxFuture<'_, Result<Option<(Uuid, u64)>, JournalError>> {
        self.retrying(move || self.inner.request(request))
    }

    fn object(&self, hash: Hash) -> BoxFuture<'_, Result<Option<Arc<[u8]>>, JournalError>> {
        self.retrying(move || self.inner.object(hash))
    }

    fn follow(&self, after: u64) -> BoxFuture<'_, Result<Commit, JournalError>> {
        self.inner.follow(after)
    }

    fn position(&self) -> BoxFuture<'_, Result<u64, JournalError>> {
        self.retrying(move || self.inner.position())
    }

    fn snapshot(&self, session: Uuid) -> BoxFuture<'_, Result<Option<Vec<u8>>, JournalError>> {
        self.inner.snapshot(session)
    }

    fn keep_snapshot(
        &self,
        session: Uuid,
        bytes: Vec<u8>,
    ) -> BoxFuture<'_, Result<(), JournalError>> {
        // The snapshot is a cache, so losing it is harmless.
        self.inner.keep_snapshot(session, bytes)
    }

    fn room(&self) -> Result<(), JournalError> {
        self.inner.room()
    }

    fn space(&self) -> Result<Option<Space>, JournalError> {
        self.inner.space()
    }

    fn sharing(&self) -> Option<&dyn Sharing> {
        self.inner.sharing()
    }

    fn is_durable(&self) -> bool {
        self.inner.is_durable()
    }

    fn close(&self) -> BoxFuture<'_, Result<(), JournalError>> {
        self.inner.close()
    }
}
