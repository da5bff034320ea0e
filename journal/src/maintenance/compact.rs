//! The compaction of the index: it returns unused space, because sled never shrinks by itself.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;
#[cfg(feature = "testing")]
use std::sync::Arc;

use crate::files::swap::{Names, SLED, SLED_NEW};
use crate::index::Index;
use crate::store::directory::claim::{Directory, Others};
use crate::store::directory::closed;
use crate::store::opening::settings::Settings;
use crate::store::opening::settling;
use crate::store::opening::settling::Witness;
use crate::{DiskJournal, Error, Progress};

/// The settings of a compaction.
pub struct CompactOptions {
    settings: Settings,
}

impl Default for CompactOptions {
    fn default() -> Self {
        Self {
            settings: Settings {
                cache_bytes: 16 << 20,
                ..Settings::default()
            },
        }
    }
}

impl CompactOptions {
    /// Sets the size of the index cache. The process uses three to four times as much memory.
    #[must_use]
    pub fn cache_bytes(mut self, cache_bytes: u64) -> Self {
        self.settings.cache_bytes = cache_bytes;
        self
    }

    /// Sets a callback for the progress of the new index, called about once a mebibyte.
    #[must_use]
    pub fn progress(mut self, progress: impl Fn(Progress) + Send + 'static) -> Self {
        self.settings.progress = Box::new(progress);
        self
    }

    /// Allows a directory that [`guard`](crate::guard()) rejects.
    #[must_use]
    pub fn insecure_directory(mut self) -> Self {
        self.settings.others = Others::Trusted;
        self
    }

    /// Sets a callback for every change of the directory, called before it. A test can end the
    /// process there.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn steps(mut self, steps: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.settings.steps = Arc::new(steps);
        self
    }
}

impl fmt::Debug for CompactOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompactOptions")
            .field("cache_bytes", &self.settings.cache_bytes)
            .finish_non_exhaustive()
    }
}

/// The result of a compaction.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Compacted {
    /// The bytes of the index before, including indexes that were set aside.
    pub bytes_before: u64,
    /// The bytes of the new index.
    pub bytes_after: u64,
    /// The number of records that were read, including the system stream.
    pub records: u64,
    /// The removed directories that had been set aside, for example `sled.damaged-1`.
    pub removed: Vec<String>,
}

/// Builds a new index from the log, and replaces the old one and all indexes that were set aside.
///
/// It needs room for the new index beside the old one. The whole log is read and must be sound
/// before anything is removed.
///
/// An interrupted compaction does no harm: the next opening finishes it or removes its files.
///
/// ```
/// use recount_journal::{CompactOptions, DiskJournal, Journal, block_on, compact};
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("journal");
/// block_on(DiskJournal::open(&path)?.close())?;
/// let compacted = compact(&path, CompactOptions::default())?;
/// assert_eq!(compacted.records, 2);
/// # Ok::<(), recount_journal::Error>(())
/// ```
///
/// # Errors
/// [`Error::Insecure`], [`Error::NotYours`], [`Error::InUse`], [`Error::Missing`],
/// [`Error::NotAJournal`], [`Error::NewerFormat`]; [`Error::Damaged`] if the log is not sound and
/// must be repaired first, or if the index has lost its mark; [`Error::Io`] and [`Error::Index`] if
/// the new index cannot be written.
pub fn compact(path: impl AsRef<Path>, options: CompactOptions) -> Result<Compacted, Error> {
    let CompactOptions { settings } = options;
    let directory = Directory::claim(path.as_ref(), false, settings.others)?;
    let doing = || Error::io(format!("compact the index of {}", directory.path.display()));
    let names = Names::seen_by(&directory.path, settings.steps);
    names.finish().map_err(doing())?;
    if let Some(what) = closed::shortened(&directory.path) {
        return Err(Error::Damaged {
            session: None,
            seq: None,
            what,
        });
    }
    let removed = names.set_aside().map_err(doing())?;
    let mut bytes_before = bytes_in(&names.path(SLED)).map_err(doing())?;
    for name in &removed {
        bytes_before += bytes_in(&names.path(name)).map_err(doing())?;
    }
    // An index that cannot be opened cannot be a witness, and is replaced anyway.
    let old = names
        .has(SLED)
        .then(|| Index::open(&names.path(SLED), settings.cache_bytes).ok())
        .flatten()
        .map(|index| Witness::of(&index, directory.journal));
    let old = old.transpose()?.flatten();
    let opening = DiskJournal::options(&directory.path)
        .cache_bytes(settings.cache_bytes)
        .progress(settings.progress);
    names.step("fill the new index");
    let place = names.path(SLED_NEW);
    let filled = settling::fill(&directory, &opening, &place, old.as_ref()).inspect_err(|_| {
        // The next opening would remove it as well.
        let _left = names.remove(SLED_NEW);
    })?;
    names.sync().map_err(doing())?;
    names.swap_index().map_err(doing())?;
    if filled.closed {
        names.step("note how all files are");
        closed::write_with_end(&directory.path, filled.end).map_err(doing())?;
    }
    Ok(Compacted {
        bytes_before,
        bytes_after: bytes_in(&names.path(SLED)).map_err(doing())?,
        records: filled.end.records,
        removed,
    })
}

/// Returns the total length of all files in a directory; 0 if it does not exist.
fn bytes_in(directory: &Path) -> io::Result<u64> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    let mut bytes = 0;
    for entry in entries {
        let entry = entry?;
        let facts = entry.metadata()?;
        bytes += if facts.is_dir() {
            bytes_in(&entry.path())?
        } else {
            facts.len()
        };
    }
    Ok(bytes)
}
