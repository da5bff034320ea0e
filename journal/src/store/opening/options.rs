//! How a journal on disk is opened.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::settings::{Progress, Settings};

use crate::files::disk::{Disk, RealDisk};
use crate::store::directory::claim::Others;

/// Settings for opening, each with a sensible value until set.
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
    /// True if the log is in the directory, so that a clean close can vouch for it.
    pub(in crate::store) notes_close: bool,
}

/// The most that stays free where nothing is set, in bytes.
const FLOOR_MAX: u64 = 64 << 20;
/// The share of the disk that stays free where nothing is set: on one of 64 MiB it is 3 MiB.
const FLOOR_SHARE: u64 = 20;

impl Options {
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            create: true,
            wait: Duration::ZERO,
            read_only: false,
            settings: Settings::default(),
            // The log stays where it is when the process changes its directory.
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

    /// Whether a missing journal is made, and one finished that was cut short while it was made. It
    /// is, unless this says no.
    #[must_use]
    pub fn create(self, create: bool) -> Self {
        Self { create, ..self }
    }

    /// How long to wait for a process that has the journal open to let go of it; without this,
    /// opening fails at once with [`Error::InUse`](crate::Error::InUse). For a deploy in which the
    /// new process starts while the old one still ends.
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

    /// Opens for looking only: no record is added, no torn write is cut, appends are refused. The
    /// index may still be caught up or rebuilt, since it is only a copy.
    #[must_use]
    pub fn read_only(self) -> Self {
        Self {
            read_only: true,
            create: false,
            ..self
        }
    }

    /// Opens a directory that users other than its owner can write to, or that the superuser finds
    /// to be another user's. Without this it is refused, since they may have put anything there;
    /// see
    /// [`guard`](crate::guard()).
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

    /// What the system stream names as the program that opened the journal.
    #[must_use]
    pub fn program(mut self, program: impl Into<String>) -> Self {
        self.settings.program = program.into();
        self
    }

    /// How much memory the index caches, 8 MiB unless said; it takes three to four times that in
    /// all, since sled looks at its cache seldom. It has little use for more: records and objects
    /// are read from the log.
    #[must_use]
    pub fn cache_bytes(mut self, cache_bytes: u64) -> Self {
        self.settings.cache_bytes = cache_bytes;
        self
    }

    /// Is told how far opening has come, about once a mebibyte.
    #[must_use]
    pub fn progress(mut self, progress: impl Fn(Progress) + Send + 'static) -> Self {
        self.settings.progress = Box::new(progress);
        self
    }

    /// Where the times of system records come from, in microseconds since 1970.
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        self.settings.clock = Arc::new(clock);
        self
    }

    /// Keeps the log elsewhere than in the directory's `log/`, for tests of crashes.
    #[must_use]
    pub fn disk(self, disk: Arc<dyn Disk>) -> Self {
        Self {
            disk,
            notes_close: false,
            ..self
        }
    }

    /// How long a segment of the log grows before the next one is begun, 64 MiB unless set. The
    /// next one is prepared when this one is half full and goes on to fill. A commit is never
    /// split, so a segment may be as long as the longest commit.
    #[must_use]
    pub fn segment_bytes(self, segment_bytes: u64) -> Self {
        Self {
            segment_bytes,
            ..self
        }
    }

    /// The space of the disk that stays free: unless set, a twentieth of the disk, 64 MiB at most.
    /// With less, appends are refused with [`Error::NoSpace`](crate::Error::NoSpace) before
    /// anything is written, and taken again as soon as there is room. 0 turns this off.
    #[must_use]
    pub fn floor_bytes(self, floor_bytes: u64) -> Self {
        Self {
            floor_bytes: Some(floor_bytes),
            ..self
        }
    }

    /// The floor that was set, or the one for the size of the disk.
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
