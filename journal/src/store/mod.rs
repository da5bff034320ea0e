//! The journal on disk: the log in front, the index behind it, each with a thread.
//!
//! The directory holds `JOURNAL` (what this is), `LOCK`, `CLOSED` (how the last close left everything), `log/` and `sled/`,
//! what a repair or a compaction sets aside, and in `snapshots/` what readers keep and where the streams stand that wait, which may be removed
//! at any time.
//! The store does not know what an event means, and does not trust the index over the log.

pub(crate) mod directory;
mod group_commit;
pub(crate) mod opening;
mod pages;
mod reading;
pub(crate) mod survey;
pub(crate) mod system;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use futures_channel::oneshot;
use uuid::Uuid;

pub use group_commit::metrics::Metrics;
pub(crate) use opening::options::wall_clock;
pub use opening::options::{Options, Progress};

use crate::files::disk::Disk;
use crate::index::Index;
use crate::log::LogFiles;
use crate::maintenance::backup::{BackedUp, back_up};
use crate::{
    Append, BoxFuture, Commit, Error, Hash, Head, Journal, Line, OpenItem, Span, block_on,
};
use directory::claim::Directory;
use group_commit::committer::Committer;
use group_commit::end::LogEnd;
use group_commit::floor::Floor;
use group_commit::indexer::Indexer;
use group_commit::queue::Shared;

/// How many spans are read under one lock of the state.
const SPANS_AT_ONCE: usize = 256;

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
///
/// An append waits for its sync without holding its thread, with one exception: where a single stream appends and the disk took less than
/// half a millisecond for each of the last commits, the sync is made within the poll of the append, since handing it to another thread would
/// take longer. Such an append is ready when it is first polled; a task that does nothing else should yield now and then.
pub struct DiskJournal {
    shared: Arc<Shared>,
    opened: Opened,
    path: PathBuf,
    read_only: bool,
    /// The log as a backup reads it.
    log: (Arc<dyn Disk>, Uuid),
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
    /// Whether the whole log was read. It is not after a clean close that every file still agrees with.
    pub read_whole: bool,
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

    /// What the journal counts about itself.
    pub fn metrics(&self) -> Metrics {
        self.shared.state().metrics()
    }

    /// Copies everything that was acknowledged before the call into a directory that is a journal of its own, while appends
    /// go on. `progress` is told about once a mebibyte.
    ///
    /// # Errors
    /// See [`backup::directory`](crate::maintenance::backup::directory()), and [`Error::Poisoned`] once the store failed.
    pub fn backup(
        &self,
        to: impl AsRef<Path>,
        mut progress: impl FnMut(Progress),
    ) -> Result<BackedUp, Error> {
        block_on(self.shared.settled())?;
        let until = self.shared.state().view.last.number;
        let (disk, journal) = &self.log;
        back_up(
            &**disk,
            *journal,
            Some(until),
            |_| Ok(()),
            to.as_ref(),
            &mut progress,
        )
    }

    fn from_options(options: Options) -> Result<Self, Error> {
        let mut directory =
            Directory::claim_within(&options.path, options.create, options.wait, options.others)?;
        let recovered = opening::recovery::recover(&directory, &options)?;
        if options.vouches {
            // It may have been made only now, and a repair that was cut short may have put a new
            // one there.
            directory.lock.hold_log(&directory.path)?;
        }
        let (index, opened) = (Arc::new(recovered.index), recovered.opened);
        let floor = Floor::new(Arc::clone(&options.disk), options.floor());
        let end = recovered
            .writer
            .map(|it| LogEnd::new(it, Arc::clone(&index)));
        let read_only = end.is_none();
        let shared = Arc::new(Shared::new(
            recovered.view,
            Arc::clone(&index),
            directory.lock,
            end,
            floor,
            LogFiles::new(Arc::clone(&options.disk)),
        ));
        let journal = Self {
            shared: Arc::clone(&shared),
            opened,
            path: directory.path.clone(),
            read_only,
            log: (Arc::clone(&options.disk), directory.journal),
            ending: Mutex::new(None),
        };
        if read_only {
            return Ok(journal);
        }
        let head = shared.system_head()?;
        let now = (options.clock)();
        let record = system::opened(head.as_ref(), now, &options.program, &journal.opened);
        let indexer = Indexer {
            shared: Arc::clone(&shared),
            index: Arc::clone(&index),
            journal: directory.journal,
        };
        let committer = Committer {
            shared,
            index,
            directory: directory.path,
            journal: directory.journal,
            vouches: options.vouches,
            clock: options.clock,
        };
        let indexer = spawned("journal indexer", move || indexer.run())?;
        let (tell, ended) = oneshot::channel();
        let thread = spawned("journal committer", move || committer.run(indexer, tell))?;
        *journal.ending() = Some(Ending { ended, thread });
        block_on(journal.shared.submit(record))?;
        Ok(journal)
    }

    fn begin_close(&self) -> Option<Ending> {
        if self.read_only {
            let mut state = self.shared.state();
            let was_open = state.let_index_go();
            if was_open && !self.opened.read_whole && !state.doubted {
                // sled touches its files even when they are only read. Without the note the next opening reads the whole log.
                let _unnoted = directory::closed::write(&self.path);
            }
            state.release();
        } else {
            self.shared.close();
        }
        self.ending().take()
    }

    fn ending(&self) -> MutexGuard<'_, Option<Ending>> {
        self.ending.lock().unwrap_or_else(PoisonError::into_inner)
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
        let span = Span {
            session,
            from,
            limit,
        };
        self.looking(move |index| {
            let mut pages = self.shared.read(index, &[span])?;
            Ok(pages.pop().unwrap_or_default())
        })
    }

    fn read_each(&self, spans: Vec<Span>) -> BoxFuture<'_, Result<Vec<Vec<Line>>, Error>> {
        self.looking(move |index| {
            let mut pages = Vec::with_capacity(spans.len());
            // Whoever appends meanwhile comes in between.
            for spans in spans.chunks(SPANS_AT_ONCE) {
                pages.append(&mut self.shared.read(index, spans)?);
            }
            Ok(pages)
        })
    }

    fn head(&self, session: Uuid) -> BoxFuture<'_, Result<Option<Head>, Error>> {
        self.looking(move |index| self.shared.head(index, session))
    }

    fn sessions(
        &self,
        after: Option<Uuid>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<(Uuid, Head)>, Error>> {
        let after = after.unwrap_or(Uuid::nil());
        self.looking(move |index| self.shared.heads(index, after, limit))
    }

    fn open_work(
        &self,
        after: Option<(Uuid, u64)>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>> {
        self.looking(move |_| Ok(self.shared.state().view.work.page(after, limit)))
    }

    fn open_work_of(&self, session: Uuid) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>> {
        self.looking(move |_| Ok(self.shared.state().view.work.of(session)))
    }

    fn deadlines(
        &self,
        until_us: i64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>> {
        self.looking(move |_| Ok(self.shared.state().view.work.due(until_us, limit)))
    }

    fn request(&self, request: Uuid) -> BoxFuture<'_, Result<Option<(Uuid, u64)>, Error>> {
        self.looking(move |index| {
            let fresh = self.shared.state().view.request(&request);
            fresh.map_or_else(|| index.request(request), |name| Ok(Some(name)))
        })
    }

    fn object(&self, hash: Hash) -> BoxFuture<'_, Result<Option<Arc<[u8]>>, Error>> {
        self.looking(move |index| self.shared.read_object(index, hash))
    }

    fn follow(&self, after: u64) -> BoxFuture<'_, Result<Commit, Error>> {
        Box::pin(async move {
            let index = self.shared.committed_behind(after).await?;
            self.doubting(self.shared.read_commit(&index, after))
        })
    }

    fn position(&self) -> BoxFuture<'_, Result<u64, Error>> {
        self.looking(move |_| Ok(self.shared.state().view.last.number))
    }

    fn snapshot(&self, session: Uuid) -> BoxFuture<'_, Result<Option<Vec<u8>>, Error>> {
        Box::pin(async move { directory::snapshots::read(&self.path, session) })
    }

    fn keep_snapshot(&self, session: Uuid, bytes: Vec<u8>) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            if self.read_only {
                return Err(Error::ReadOnly);
            }
            // Once it is closed, the directory may be somebody else's.
            self.shared.settled().await?;
            directory::snapshots::keep(&self.path, session, &bytes)
        })
    }

    fn room(&self) -> Result<(), Error> {
        self.shared.room()
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

impl DiskJournal {
    /// Looks something up once everything admitted so far is committed.
    fn looking<'j, T: Send>(
        &'j self,
        look: impl FnOnce(&Index) -> Result<T, Error> + Send + 'j,
    ) -> BoxFuture<'j, Result<T, Error>> {
        Box::pin(async move {
            let index = self.shared.settled().await?;
            self.doubting(look(&index))
        })
    }

    /// Remembers that something in the index was wrong, so that the next opening looks at all of it.
    fn doubting<T>(&self, found: Result<T, Error>) -> Result<T, Error> {
        if matches!(found, Err(Error::Index { .. })) {
            self.shared.state().doubted = true;
        }
        found
    }
}

fn spawned<T: Send + 'static>(
    name: &str,
    run: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, Error> {
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(run)
        .map_err(Error::io(format!("start the {name} thread")))
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
