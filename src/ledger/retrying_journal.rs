//! A journal that repeats reads which its store could not answer.

use std::sync::Arc;

use recount_journal::{
    Append, BoxFuture, Commit, Error, Hash, Head, Journal, Line, OpenItem, Sharing, Space, Span,
};
use uuid::Uuid;

/// The rule by which reads are repeated.
pub(crate) trait Retry: Send + Sync + 'static {
    /// Waits before another attempt of a read that failed so many times. Returns the error if there
    /// is no other attempt.
    fn pause(&self, error: Error, failures: u32) -> BoxFuture<'_, Result<(), Error>>;

    /// Notes that a read was answered.
    fn answered(&self) {}
}

/// A journal that repeats reads by a rule. Appends and snapshots are left to their callers.
pub(crate) struct RetryingJournal<R> {
    pub(crate) inner: Arc<dyn Journal>,
    pub(crate) retry: R,
}

impl<R: Retry> RetryingJournal<R> {
    fn retrying<'j, T: Send>(
        &'j self,
        read: impl Fn() -> BoxFuture<'j, Result<T, Error>> + Send + 'j,
    ) -> BoxFuture<'j, Result<T, Error>> {
        Box::pin(async move {
            let mut failures = 0_u32;
            loop {
                let error = match read().await {
                    Ok(found) => {
                        self.retry.answered();
                        return Ok(found);
                    }
                    Err(error) => error,
                };
                failures = failures.saturating_add(1);
                self.retry.pause(error, failures).await?;
            }
        })
    }
}

impl<R: Retry> Journal for RetryingJournal<R> {
    fn append(&self, append: Append) -> BoxFuture<'_, Result<Head, Error>> {
        // A rejected append is dropped, so the caller repeats it.
        self.inner.append(append)
    }

    fn read(
        &self,
        session: Uuid,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Line>, Error>> {
        self.retrying(move || self.inner.read(session, from, limit))
    }

    fn read_each(&self, spans: Vec<Span>) -> BoxFuture<'_, Result<Vec<Vec<Line>>, Error>> {
        self.retrying(move || self.inner.read_each(spans.clone()))
    }

    fn head(&self, session: Uuid) -> BoxFuture<'_, Result<Option<Head>, Error>> {
        self.retrying(move || self.inner.head(session))
    }

    fn sessions(
        &self,
        after: Option<Uuid>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<(Uuid, Head)>, Error>> {
        self.retrying(move || self.inner.sessions(after, limit))
    }

    fn open_work(
        &self,
        after: Option<(Uuid, u64)>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>> {
        self.retrying(move || self.inner.open_work(after, limit))
    }

    fn open_work_of_kinds<'j>(
        &'j self,
        kinds: &'j [&'j str],
        after: Option<(Uuid, u64)>,
        limit: usize,
    ) -> BoxFuture<'j, Result<Vec<OpenItem>, Error>> {
        self.retrying(move || self.inner.open_work_of_kinds(kinds, after, limit))
    }

    fn open_work_of(&self, session: Uuid) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>> {
        self.retrying(move || self.inner.open_work_of(session))
    }

    fn deadlines(
        &self,
        until_us: i64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>> {
        self.retrying(move || self.inner.deadlines(until_us, limit))
    }

    fn request(&self, request: Uuid) -> BoxFuture<'_, Result<Option<(Uuid, u64)>, Error>> {
        self.retrying(move || self.inner.request(request))
    }

    fn object(&self, hash: Hash) -> BoxFuture<'_, Result<Option<Arc<[u8]>>, Error>> {
        self.retrying(move || self.inner.object(hash))
    }

    fn follow(&self, after: u64) -> BoxFuture<'_, Result<Commit, Error>> {
        self.retrying(move || self.inner.follow(after))
    }

    fn position(&self) -> BoxFuture<'_, Result<u64, Error>> {
        self.retrying(move || self.inner.position())
    }

    fn snapshot(&self, session: Uuid) -> BoxFuture<'_, Result<Option<Vec<u8>>, Error>> {
        self.inner.snapshot(session)
    }

    fn keep_snapshot(&self, session: Uuid, bytes: Vec<u8>) -> BoxFuture<'_, Result<(), Error>> {
        // The snapshot is a cache, so losing it is harmless.
        self.inner.keep_snapshot(session, bytes)
    }

    fn room(&self) -> Result<(), Error> {
        self.inner.room()
    }

    fn space(&self) -> Result<Option<Space>, Error> {
        self.inner.space()
    }

    fn sharing(&self) -> Option<&dyn Sharing> {
        self.inner.sharing()
    }

    fn is_durable(&self) -> bool {
        self.inner.is_durable()
    }

    fn close(&self) -> BoxFuture<'_, Result<(), Error>> {
        self.inner.close()
    }
}
