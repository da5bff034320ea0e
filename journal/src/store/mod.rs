//! The journal on disk: the log in front, the index behind it, one committer thread between.
//!
//! The directory holds `JOURNAL` (what this is), `LOCK`, `log/` and `sled/`.
//! The store does not know what an event means, and does not trust the index over the log.

mod committer;
pub(crate) mod directory;
mod options;
mod queue;
pub(crate) mod recovery;
pub(crate) mod system;

use std::fmt;
use std::ops::Bound;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use futures_channel::oneshot;
use uuid::Uuid;

pub use options::{Options, Progress};

use crate::{Append, BoxFuture, Error, Hash, Head, Journal, Line, OpenItem, block_on};
use committer::Committer;
use directory::Directory;
use queue::Shared;

/// Keeps a journal in a directory.
///
/// ```
/// use recount_journal::{Actor, Append, DiskJournal, Draft, Hash, Journal, block_on};
/// use uuid::Uuid;
///
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("journal");
/// let journal = DiskJournal::open(&path)?;
/// let session = Uuid::from_u128(1);
/// let line = Draft {
///     session, seq: 1, at_us: 0, kind: "greeted", cause: None,
///     actor: Actor::new("engine"), body: "{}", prev: Hash::ZERO,
/// }.line();
/// let head = block_on(journal.append(Append::new(session, 0, vec![line.clone()])))?;
/// assert_eq!((head.seq, head.hash), (1, line.leaf()));
/// assert_eq!(block_on(journal.read(session, 1, 100))?, [line]);
/// block_on(journal.close())?;
/// # Ok::<(), recount_journal::Error>(())
/// ```
pub struct DiskJournal {
    shared: Arc<Shared>,
    opened: Opened,
    read_only: bool,
    ending: Mutex<Option<Ending>>,
}

struct Ending {
    ended: oneshot::Receiver<()>,
    thread: JoinHandle<()>,
}

/// How the journal was found.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Opened {
    /// What went before.
    pub after: After,
    /// What became of the index.
    pub index: IndexState,
    /// The records found, those of the system stream too.
    pub records: u64,
    /// Bytes of a torn write that was never acknowledged, cut off the end of the log.
    pub cut_bytes: u64,
}

/// What went before an opening.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum After {
    /// Nothing; the journal is new.
    New,
    /// The journal was closed.
    Clean,
    /// The process ended without closing it.
    Crash,
}

/// What an opening made of the index.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum IndexState {
    /// It held everything.
    Kept,
    /// So many commits of the log were added.
    CaughtUp(u64),
    /// It was made again from the log, for this reason.
    Rebuilt(String),
}

impl fmt::Display for IndexState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kept => f.write_str("kept"),
            Self::CaughtUp(commits) => write!(f, "caught up by {commits} commits"),
            Self::Rebuilt(why) => write!(f, "rebuilt: {why}"),
        }
    }
}

impl DiskJournal {
    /// Opens a journal, and makes it when there is none.
    ///
    /// # Errors
    /// See [`Options::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::options(path).open()
    }

    /// Opens a journal that is there.
    ///
    /// # Errors
    /// [`Error::Missing`] when it is not; else see [`Options::open`].
    pub fn open_existing(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::options(path).create(false).open()
    }

    /// Settings for opening the journal at a path.
    pub fn options(path: impl AsRef<Path>) -> Options {
        Options::new(path.as_ref())
    }

    /// How the journal was found.
    pub fn opened(&self) -> &Opened {
        &self.opened
    }

    fn from_options(options: Options) -> Result<Self, Error> {
        let directory = Directory::claim(&options.path, options.create)?;
        let recovered = recovery::recover(&directory, &options)?;
        let index = Arc::new(recovered.index);
        let journal = directory.journal;
        let shared = Arc::new(Shared::new(
            recovered.heads,
            recovered.work,
            Arc::clone(&index),
            directory.lock,
        ));
        let opened = recovered.opened;
        let mut ending = None;
        if !options.read_only {
            let head = shared.state().heads.get(&Uuid::nil()).copied();
            let record =
                system::opened(head.as_ref(), (options.clock)(), &options.program, &opened);
            let clock = Arc::clone(&options.clock);
            let index_place = recovery::index_place(&directory.path);
            let (shared_too, writer) = (Arc::clone(&shared), recovered.writer);
            let committer = Committer {
                shared: shared_too,
                writer,
                index,
                index_place,
                journal,
                clock,
            };
            let (tell, ended) = oneshot::channel();
            let thread = thread::Builder::new()
                .name("journal committer".to_owned())
                .spawn(move || committer.run(tell))
                .map_err(Error::io("start the committer thread"))?;
            ending = Some(Ending { ended, thread });
            let journal = Self {
                shared,
                opened,
                read_only: false,
                ending: Mutex::new(ending),
            };
            block_on(journal.shared.submit(record))?;
            return Ok(journal);
        }
        Ok(Self {
            shared,
            opened,
            read_only: true,
            ending: Mutex::new(ending),
        })
    }

    fn begin_close(&self) -> Option<Ending> {
        if self.read_only {
            self.shared.state().release();
        } else {
            self.shared.close();
        }
        self.ending
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

impl Journal for DiskJournal {
    fn append(&self, append: Append) -> BoxFuture<'_, Result<Head, Error>> {
        Box::pin(async move {
            if self.read_only {
                Err(Error::ReadOnly)
            } else {
                self.shared.submit(append).await
            }
        })
    }

    fn read(
        &self,
        session: Uuid,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Line>, Error>> {
        Box::pin(async move {
            let last = self
                .shared
                .state()
                .heads
                .get(&session)
                .map_or(0, |head| head.seq);
            self.shared
                .settled()
                .await?
                .read(session, from.max(1), last, limit)
        })
    }

    fn head(&self, session: Uuid) -> BoxFuture<'_, Result<Option<Head>, Error>> {
        Box::pin(async move {
            let head = self.shared.state().heads.get(&session).copied();
            self.shared.settled().await.map(|_| head)
        })
    }

    fn sessions(
        &self,
        after: Option<Uuid>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<(Uuid, Head)>, Error>> {
        Box::pin(async move {
            let start = Bound::Excluded(after.unwrap_or(Uuid::nil()));
            let page = |(session, head): (&Uuid, &Head)| (*session, *head);
            let page = self
                .shared
                .state()
                .heads
                .range((start, Bound::Unbounded))
                .take(limit)
                .map(page)
                .collect();
            self.shared.settled().await.map(|_| page)
        })
    }

    fn open_work(
        &self,
        after: Option<(Uuid, u64)>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>> {
        Box::pin(async move {
            self.shared
                .settled()
                .await
                .map(|_| self.shared.state().work.page(after, limit))
        })
    }

    fn open_work_of(&self, session: Uuid) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>> {
        Box::pin(async move {
            self.shared
                .settled()
                .await
                .map(|_| self.shared.state().work.of(session))
        })
    }

    fn deadlines(
        &self,
        until_us: i64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>> {
        Box::pin(async move {
            self.shared
                .settled()
                .await
                .map(|_| self.shared.state().work.due(until_us, limit))
        })
    }

    fn request(&self, request: Uuid) -> BoxFuture<'_, Result<Option<(Uuid, u64)>, Error>> {
        Box::pin(async move {
            self.shared
                .settled()
                .await
                .map(|_| self.shared.state().work.request(request))
        })
    }

    fn object(&self, hash: Hash) -> BoxFuture<'_, Result<Option<Arc<[u8]>>, Error>> {
        Box::pin(async move { Ok(self.shared.settled().await?.object(&hash)?.map(Arc::from)) })
    }

    fn is_durable(&self) -> bool {
        true
    }

    fn close(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            if let Some(Ending { ended, thread }) = self.begin_close() {
                // The other end is dropped, never sent: it falls when the committer has let go of everything.
                let _fallen = ended.await;
                drop(thread);
            }
            self.shared.state().outcome()
        })
    }
}

impl Drop for DiskJournal {
    /// Closes the journal; whether that went well is told only by [`Journal::close`].
    fn drop(&mut self) {
        if let Some(Ending { thread, .. }) = self.begin_close() {
            // A panic of the committer was turned into a failure on its own thread.
            let _ended = thread.join();
        }
    }
}

impl fmt::Debug for DiskJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiskJournal")
            .field("opened", &self.opened)
            .finish_non_exhaustive()
    }
}
