//! The journal on disk: its parts, its opening and its close.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use futures_channel::oneshot;
use uuid::Uuid;

use super::directory::claim::Directory;
use super::directory::closed;
use super::group_commit::committer::Committer;
use super::group_commit::floor::Floor;
use super::group_commit::indexer::Indexer;
use super::group_commit::log_end::LogEnd;
use super::group_commit::metrics::Metrics;
use super::group_commit::queue::Shared;
use super::opening::options::Options;
use super::opening::recovery;
use super::system::{self, Opened};
use crate::files::disk::Disk;
use crate::log::LogFiles;
use crate::{Error, block_on};

/// A journal in a directory.
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
/// An append waits for its sync without blocking its thread, with one exception. The sync runs in
/// the poll of the append while a single stream appends and each of the last commits took less than
/// half a millisecond. Handing it to another thread would take longer. Such an append is ready at
/// its first poll. A task that does nothing else should yield now and then.
pub struct DiskJournal {
    pub(super) shared: Arc<Shared>,
    opened: Opened,
    pub(super) path: PathBuf,
    pub(super) read_only: bool,
    /// The log for backups, and the id of the journal.
    log: (Arc<dyn Disk>, Uuid),
    ending: Mutex<Option<Ending>>,
}

pub(super) struct Ending {
    pub(super) ended: oneshot::Receiver<()>,
    pub(super) thread: JoinHandle<()>,
}

impl DiskJournal {
    /// Opens a journal, and creates it if there is none.
    ///
    /// # Errors
    /// See [`Options::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::options(path).open()
    }

    /// Opens an existing journal.
    ///
    /// # Errors
    /// [`Error::Missing`] if it does not exist; otherwise see [`Options::open`].
    pub fn open_existing(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::options(path).create(false).open()
    }

    /// Returns the options for opening the journal at a path.
    pub fn options(path: impl AsRef<Path>) -> Options {
        Options::new(path.as_ref())
    }

    /// The state in which the journal was found.
    pub fn opened(&self) -> &Opened {
        &self.opened
    }

    /// Returns the counters of the journal.
    pub fn metrics(&self) -> Metrics {
        self.shared.state().metrics()
    }

    /// Waits until everything admitted so far is committed. Returns the log, the id of the journal,
    /// and the last frame.
    pub(crate) fn acknowledged(&self) -> Result<(&dyn Disk, Uuid, u64), Error> {
        block_on(self.shared.settled())?;
        let until = self.shared.state().view.last.number;
        let (disk, journal) = &self.log;
        Ok((&**disk, *journal, until))
    }

    fn from_options(options: Options) -> Result<Self, Error> {
        let mut directory = Directory::claim_within(
            &options.path,
            options.create,
            options.wait,
            options.settings.others,
        )?;
        let recovered = recovery::recover(&directory, &options)?;
        if options.notes_close {
            // The segment may be new: created just now, or by finishing an interrupted repair.
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
        let now = (options.settings.clock)();
        let record = system::opened(
            head.as_ref(),
            now,
            &options.settings.program,
            &journal.opened,
        );
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
            notes_close: options.notes_close,
            clock: options.settings.clock,
        };
        let indexer = spawned("journal indexer", move || indexer.run())?;
        let (tell, ended) = oneshot::channel();
        let thread = spawned("journal committer", move || committer.run(indexer, tell))?;
        *journal.ending() = Some(Ending { ended, thread });
        block_on(journal.shared.submit(record))?;
        Ok(journal)
    }

    pub(super) fn begin_close(&self) -> Option<Ending> {
        if self.read_only {
            let mut state = self.shared.state();
            let was_open = state.drop_index();
            if was_open && !self.opened.read_whole && !state.needs_full_check {
                // sled changes its files even when they are only read. Without the note the next
                // opening reads the whole log.
                let _unnoted = closed::write(&self.path);
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

impl Options {
    /// Opens the journal. This blocks: it reads the log, and catches up or rebuilds the index.
    ///
    /// # Errors
    /// [`Error::InUse`], [`Error::Missing`], [`Error::NotAJournal`], [`Error::NewerFormat`],
    /// [`Error::Insecure`], [`Error::NotYours`], and [`Error::Damaged`] if an acknowledged record
    /// is lost or altered.
    pub fn open(self) -> Result<DiskJournal, Error> {
        DiskJournal::from_options(self)
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
    /// Closes the journal. Only [`Journal::close`](crate::Journal::close) reports errors of the
    /// close.
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
