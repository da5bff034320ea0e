//! A journal whose store a test can put out of reach.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use recount_journal::{
    Append, BoxFuture, Commit, Error, Hash, Head, Journal, Line, OpenItem, Sharing,
};
use tokio::sync::watch;
use uuid::Uuid;

/// A journal whose reads and appends fail while a test says so. A read that waits fails, too.
pub struct UnreachableJournal {
    inner: Arc<dyn Journal>,
    fault: watch::Sender<Option<Fault>>,
    loses_append: AtomicBool,
    failures: watch::Sender<u64>,
}

/// The fault of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    OutOfReach,
    Damaged,
    Silent,
}

impl Fault {
    fn error(self) -> Error {
        match self {
            Fault::OutOfReach | Fault::Silent => {
                Error::io("reach the store")(std::io::ErrorKind::NotConnected.into())
            }
            Fault::Damaged => Error::Damaged {
                session: None,
                seq: None,
                what: "the test damaged it".to_owned(),
            },
        }
    }
}

impl UnreachableJournal {
    /// Wraps a journal that is in reach.
    pub fn new(inner: Arc<dyn Journal>) -> Arc<UnreachableJournal> {
        Arc::new(UnreachableJournal {
            inner,
            fault: watch::Sender::new(None),
            loses_append: AtomicBool::new(false),
            failures: watch::Sender::new(0),
        })
    }

    /// Puts the store out of reach, as a database that has ended.
    pub fn cut(&self) {
        self.fault.send_replace(Some(Fault::OutOfReach));
    }

    /// Lets each operation wait until the fault ends, as behind a network that drops everything.
    pub fn silence(&self) {
        self.fault.send_replace(Some(Fault::Silent));
    }

    /// Damages the store, so that each read finds the damage.
    pub fn damage(&self) {
        self.fault.send_replace(Some(Fault::Damaged));
    }

    /// Fails the next append after it was stored, so that its outcome is unknown.
    pub fn lose_append(&self) {
        self.loses_append.store(true, Ordering::SeqCst);
    }

    /// Ends the fault.
    pub fn heal(&self) {
        self.fault.send_replace(None);
    }

    /// Waits until so many operations have failed since the journal was wrapped.
    pub async fn failed(&self, operations: u64) {
        // The sender lives as long as `self`.
        let _ = self
            .failures
            .subscribe()
            .wait_for(|it| *it >= operations)
            .await;
    }

    fn fail(&self, fault: Fault) -> Error {
        self.failures.send_modify(|it| *it += 1);
        fault.error()
    }

    fn passing<'j, T: Send + 'j>(
        &'j self,
        operation: impl FnOnce() -> BoxFuture<'j, Result<T, Error>> + Send + 'j,
    ) -> BoxFuture<'j, Result<T, Error>> {
        Box::pin(async move {
            let (mut fault, mut silence) = (self.fault.subscribe(), self.fault.subscribe());
            let failing = async {
                // The sender lives as long as `self`.
                let fails = |it: &Option<Fault>| it.is_some_and(|it| it != Fault::Silent);
                let found = fault.wait_for(fails).await;
                found.ok().and_then(|it| *it).unwrap_or(Fault::OutOfReach)
            };
            let done = async {
                // As above.
                let _ = silence.wait_for(|it| *it != Some(Fault::Silent)).await;
                operation().await
            };
            tokio::select! {
                biased;
                fault = failing => Err(self.fail(fault)),
                done = done => done,
            }
        })
    }
}

impl Journal for UnreachableJournal {
    fn append(&self, append: Append) -> BoxFuture<'_, Result<Head, Error>> {
        let is_lost = self.loses_append.swap(false, Ordering::SeqCst);
        Box::pin(async move {
            let head = self.passing(move || self.inner.append(append)).await?;
            match is_lost {
                true => Err(self.fail(Fault::OutOfReach)),
                false => Ok(head),
            }
        })
    }

    fn read(
        &self,
        session: Uuid,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Line>, Error>> {
        self.passing(move || self.inner.read(session, from, limit))
    }

    fn head(&self, session: Uuid) -> BoxFuture<'_, Result<Option<Head>, Error>> {
        self.passing(move || self.inner.head(session))
    }

    fn sessions(
        &self,
        after: Option<Uuid>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<(Uuid, Head)>, Error>> {
        self.passing(move || self.inner.sessions(after, limit))
    }

    fn open_work(
        &self,
        after: Option<(Uuid, u64)>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>> {
        self.passing(move || self.inner.open_work(after, limit))
    }

    fn open_work_of_kinds<'j>(
        &'j self,
        kinds: &'j [&'j str],
        after: Option<(Uuid, u64)>,
        limit: usize,
    ) -> BoxFuture<'j, Result<Vec<OpenItem>, Error>> {
        self.passing(move || self.inner.open_work_of_kinds(kinds, after, limit))
    }

    fn open_work_of(&self, session: Uuid) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>> {
        self.passing(move || self.inner.open_work_of(session))
    }

    fn deadlines(
        &self,
        until_us: i64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>> {
        self.passing(move || self.inner.deadlines(until_us, limit))
    }

    fn request(&self, request: Uuid) -> BoxFuture<'_, Result<Option<(Uuid, u64)>, Error>> {
        self.passing(move || self.inner.request(request))
    }

    fn object(&self, hash: Hash) -> BoxFuture<'_, Result<Option<Arc<[u8]>>, Error>> {
        self.passing(move || self.inner.object(hash))
    }

    fn follow(&self, after: u64) -> BoxFuture<'_, Result<Commit, Error>> {
        self.passing(move || self.inner.follow(after))
    }

    fn position(&self) -> BoxFuture<'_, Result<u64, Error>> {
        self.passing(move || self.inner.position())
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
