//! Journals that a test can stop, break, or keep beyond the life of an engine.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use recount_journal::{
    Append, BoxFuture, Commit, Error, Hash, Head, Journal, Line, MemoryJournal, OpenItem, Sharing,
};
use tokio::sync::watch;
use uuid::Uuid;

use super::crash::Crash;

/// Forwards all methods except `append`, `is_durable` and `close`.
macro_rules! reads_as_inner {
    () => {
        fn read(
            &self,
            session: Uuid,
            from: u64,
            limit: usize,
        ) -> BoxFuture<'_, Result<Vec<Line>, Error>> {
            self.inner.read(session, from, limit)
        }

        lists_as_inner!();
    };
}

/// Forwards all methods except these and `read`.
macro_rules! lists_as_inner {
    () => {
        fn head(&self, session: Uuid) -> BoxFuture<'_, Result<Option<Head>, Error>> {
            self.inner.head(session)
        }

        fn sessions(
            &self,
            after: Option<Uuid>,
            limit: usize,
        ) -> BoxFuture<'_, Result<Vec<(Uuid, Head)>, Error>> {
            self.inner.sessions(after, limit)
        }

        fn open_work(
            &self,
            after: Option<(Uuid, u64)>,
            limit: usize,
        ) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>> {
            self.inner.open_work(after, limit)
        }

        fn open_work_of_kinds<'j>(
            &'j self,
            kinds: &'j [&'j str],
            after: Option<(Uuid, u64)>,
            limit: usize,
        ) -> BoxFuture<'j, Result<Vec<OpenItem>, Error>> {
            self.inner.open_work_of_kinds(kinds, after, limit)
        }

        fn open_work_of(&self, session: Uuid) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>> {
            self.inner.open_work_of(session)
        }

        fn deadlines(
            &self,
            until_us: i64,
            limit: usize,
        ) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>> {
            self.inner.deadlines(until_us, limit)
        }

        fn request(&self, request: Uuid) -> BoxFuture<'_, Result<Option<(Uuid, u64)>, Error>> {
            self.inner.request(request)
        }

        fn object(&self, hash: Hash) -> BoxFuture<'_, Result<Option<Arc<[u8]>>, Error>> {
            self.inner.object(hash)
        }

        fn follow(&self, after: u64) -> BoxFuture<'_, Result<Commit, Error>> {
            self.inner.follow(after)
        }

        fn position(&self) -> BoxFuture<'_, Result<u64, Error>> {
            self.inner.position()
        }

        fn sharing(&self) -> Option<&dyn Sharing> {
            self.inner.sharing()
        }
    };
}

/// A journal whose process may crash at a point of a batch.
pub struct CrashingJournal {
    inner: Arc<dyn Journal>,
    crash: Arc<Crash>,
}

impl CrashingJournal {
    /// Wraps a journal.
    pub fn new(inner: Arc<dyn Journal>, crash: &Arc<Crash>) -> CrashingJournal {
        CrashingJournal {
            inner,
            crash: crash.clone(),
        }
    }
}

impl Journal for CrashingJournal {
    fn append(&self, append: Append) -> BoxFuture<'_, Result<Head, Error>> {
        Box::pin(async move {
            let batch = self.crash.append_begins().await;
            let (session, durability) = (append.session, append.durability);
            let head = self.inner.append(append).await?;
            self.crash
                .append_kept(batch, session, head, durability)
                .await;
            Ok(head)
        })
    }

    reads_as_inner!();

    fn is_durable(&self) -> bool {
        self.inner.is_durable()
    }

    fn close(&self) -> BoxFuture<'_, Result<(), Error>> {
        self.inner.close()
    }
}

/// A journal that fails all appends from one on, like a full disk.
pub struct FailingJournal {
    inner: Arc<dyn Journal>,
    fails_at: usize,
    appends: AtomicUsize,
    failed: watch::Sender<bool>,
}

impl FailingJournal {
    /// The cause in the error of a failed append.
    pub const CAUSE: &'static str = "no space left on the device";

    /// Fails the `fails_at`th append, counted from 1, and all later ones.
    pub fn new(inner: Arc<dyn Journal>, fails_at: usize) -> FailingJournal {
        FailingJournal {
            inner,
            fails_at,
            appends: AtomicUsize::new(0),
            failed: watch::Sender::new(false),
        }
    }

    /// Waits until an append has failed.
    pub async fn failed(&self) {
        // The sender lives as long as `self`.
        let _ = self.failed.subscribe().wait_for(|failed| *failed).await;
    }
}

impl Journal for FailingJournal {
    fn append(&self, append: Append) -> BoxFuture<'_, Result<Head, Error>> {
        let appended = self.appends.fetch_add(1, Ordering::SeqCst) + 1;
        if appended < self.fails_at {
            return self.inner.append(append);
        }
        self.failed.send_replace(true);
        Box::pin(async {
            Err(Error::Poisoned {
                cause: FailingJournal::CAUSE.to_owned(),
            })
        })
    }

    reads_as_inner!();

    fn is_durable(&self) -> bool {
        self.inner.is_durable()
    }

    fn close(&self) -> BoxFuture<'_, Result<(), Error>> {
        self.inner.close()
    }
}

/// A journal in memory that outlives its engines, as one on disk does.
///
/// It counts as durable, so gates are enforced. `close` has no effect.
#[derive(Debug, Default)]
pub struct SurvivingJournal {
    inner: MemoryJournal,
}

impl SurvivingJournal {
    /// An empty journal.
    pub fn new() -> Arc<SurvivingJournal> {
        Arc::default()
    }
}

impl Journal for SurvivingJournal {
    fn append(&self, append: Append) -> BoxFuture<'_, Result<Head, Error>> {
        self.inner.append(append)
    }

    reads_as_inner!();

    fn is_durable(&self) -> bool {
        true
    }

    fn close(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async { Ok(()) })
    }
}

/// A journal in memory whose appends or reads can be blocked for a while.
#[derive(Debug)]
pub struct StuckJournal {
    inner: MemoryJournal,
    stuck: watch::Sender<bool>,
    mute: watch::Sender<bool>,
}

impl StuckJournal {
    /// An empty journal that blocks nothing.
    pub fn new() -> Arc<StuckJournal> {
        Arc::new(StuckJournal {
            inner: MemoryJournal::new(),
            stuck: watch::Sender::new(false),
            mute: watch::Sender::new(false),
        })
    }

    /// Blocks all appends from here on.
    pub fn stick(&self) {
        self.stuck.send_replace(true);
    }

    /// Blocks all reads of records from here on.
    pub fn mute(&self) {
        self.mute.send_replace(true);
    }

    /// Continues blocked appends and reads.
    pub fn release(&self) {
        self.stuck.send_replace(false);
        self.mute.send_replace(false);
    }
}

impl Journal for StuckJournal {
    fn append(&self, append: Append) -> BoxFuture<'_, Result<Head, Error>> {
        Box::pin(async move {
            // The sender lives as long as `self`.
            let _ = self.stuck.subscribe().wait_for(|stuck| !*stuck).await;
            self.inner.append(append).await
        })
    }

    fn read(
        &self,
        session: Uuid,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Line>, Error>> {
        Box::pin(async move {
            let _ = self.mute.subscribe().wait_for(|mute| !*mute).await;
            self.inner.read(session, from, limit).await
        })
    }

    lists_as_inner!();

    fn is_durable(&self) -> bool {
        self.inner.is_durable()
    }

    fn close(&self) -> BoxFuture<'_, Result<(), Error>> {
        self.inner.close()
    }
}
