//! The options of an opening.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::settings::{Progress, Settings};

use crate::files::disk::{Disk, RealDisk};
use crate::store::directory::claim::Others;

/// The options of an opening, each with a default.
///
/// ```
/// use recount_journal::DiskJournal;
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("journal");
/// let journal = DiskJournal::options(&path).program("teller 1.0").cache_bytes(16 << 20).open()?;
/// assert_eq!(journal.opened().records, 0);
/// # Ok::<(), recount_journal::Error>(())
/// ```
pub struct Options {
    pub(in crate::store) path: PathBuf,
    pub(in crate::store) create: bool,
    pub(in crate::store) wait: Duration,
    pub(in crate::store) read_only: bool,
    pub(in crate::store) settings: Settings,
    pub(in crate::store) disk: Arc<dyn Disk>,
    pub(super) segment_bytes: u64,
    pub(in crate::store) floor_bytes: Option<u64>,
    /// True if the log is in the directory, so that a clean close can write `CLOSED` for it.
    pub(in crate::store) notes_close: bool,
}

/// The default maximum of the free-space floor, in bytes.
const FLOOR_MAX: u64 = 64 << 20;
/// The divisor of the disk size for the default floor: on a disk of 64 MiB it is 3 MiB.
const FLOOR_SHARE: u64 = 20;

impl Options {
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            create: true,
            wait: Duration::ZERO,
            read_only: false,
            settings: Settings::default(),
            // An absolute path, so that the log stays there when the process changes its directory.
            disk: Arc::new(RealDisk::new(
                std::path::absolute(path)
                    .unwrap_or_else(|_| path.to_owned())
                    .join("log"),
            )),
            segment_bytes: 64 << 20,
            floor_bytes: None,
            notes_close: true,
        }
    }

    /// Sets whether a missing journal is created, and an incomplete one finished. The default is
    /// true.
    #[must_use]
    pub fn create(self, create: bool) -> Self {
        Self { create, ..self }
    }

    /// Sets the time to wait for a process that has the journal open. Without it, opening fails at
    /// once with [`Error::InUse`](crate::Error::InUse). It is for a deploy in which the new process
    /// starts while the old one still ends.
    ///
    /// ```
    /// use std::time::Duration;
    /// use recount_journal::DiskJournal;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("journal");
    /// let journal = DiskJournal::options(&path).wait(Duration::from_secs(30)).open()?;
    /// # drop(journal);
    /// # Ok::<(), recount_journal::Error>(())
    /// ```
    #[must_use]
    pub fn wait(self, wait: Duration) -> Self {
        Self { wait, ..self }
    }

    /// Opens for reading only: no record is added, no torn write is cut, and appends are rejected.
    /// The index may still be caught up or rebuilt, because it is only a copy.
    #[must_use]
    pub fn read_only(self) -> Self {
        Self {
            read_only: true,
            create: false,
            ..self
        }
    }

    /// Allows a directory that other users than its owner can write to. The superuser may also open
    /// the directory of another user. Without it, such a directory is rejected, because other users
    /// may have written to it; see [`guard`](crate::guard()).
    ///
    /// ```
    /// use recount_journal::DiskJournal;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("journal");
    /// let journal = DiskJournal::options(&path).insecure_directory().open()?;
    /// # drop(journal);
    /// # Ok::<(), recount_journal::Error>(())
    /// ```
    #[must_use]
    pub fn insecure_directory(mut self) -> Self {
        self.settings.others = Others::Trusted;
        self
    }

    /// Sets the name of the program in the system stream.
    #[must_use]
    pub fn program(mut self, program: impl Into<String>) -> Self {
        self.settings.program = program.into();
        self
    }

    /// Sets the size of the index cache, 8 MiB by default. The index uses three to four times as
    /// much memory, because sled checks its cache seldom. More has little use: records and objects
    /// are read from the log.
    #[must_use]
    pub fn cache_bytes(mut self, cache_bytes: u64) -> Self {
        self.settings.cache_bytes = cache_bytes;
        self
    }

    /// Sets a callback for the progress of the opening, called about once a mebibyte.
    #[must_use]
    pub fn progress(mut self, progress: impl Fn(Progress) + Send + 'static) -> Self {
        self.settings.progress = Box::new(progress);
        self
    }

    /// Sets the clock for system records, in microseconds since 1970.
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        self.settings.clock = Arc::new(clock);
        self
    }

    /// Stores the log on another disk than in the directory's `log/`, for crash tests.
    #[must_use]
    pub fn disk(self, disk: Arc<dyn Disk>) -> Self {
        Self {
            disk,
            notes_close: false,
            ..self
        }
    }

    /// Sets the maximum length of a log segment, 64 MiB by default. The next segment is prepared
    /// when this one is half full and still filling. A commit is never split, so a segment may be
    /// as long as the longest commit.
    #[must_use]
    pub fn segment_bytes(self, segment_bytes: u64) -> Self {
        Self {
            segment_bytes,
            ..self
        }
    }

    /// Sets the space of the disk that stays free. The default is a twentieth of the disk, 64 MiB
    /// at most. With less free space, appends are rejected with
    /// [`Error::NoSpace`](crate::Error::NoSpace) before anything is written. They succeed again as
    /// soon as there is room. 0 turns the check off.
    #[must_use]
    pub fn floor_bytes(self, floor_bytes: u64) -> Self {
        Self {
            floor_bytes: Some(floor_bytes),
            ..self
        }
    }

    /// The configured floor, or the default for the size of the disk.
    pub(in crate::store) fn floor(&self) -> u64 {
        self.floor_bytes.unwrap_or_else(|| {
            let total = self.disk.total_space().unwrap_or(u64::MAX);
            FLOOR_MAX.min(total / FLOOR_SHARE)
        })
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("path", &self.path)
            .field("read_only", &self.read_only)
            .finish_non_exhaustive()
    }
}
