//! Gives back the space that the index holds and no longer needs: sled never shrinks by itself.

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

/// Settings for a compaction.
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
    /// How much memory the index caches; it takes three to four times that in all.
    #[must_use]
    pub fn cache_bytes(mut self, cache_bytes: u64) -> Self {
        self.settings.cache_bytes = cache_bytes;
        self
    }

    /// Is told how much of the log is in the new index, about once a mebibyte.
    #[must_use]
    pub fn progress(mut self, progress: impl Fn(Progress) + Send + 'static) -> Self {
        self.settings.progress = Box::new(progress);
        self
    }

    /// Works in a directory that [`guard`](crate::guard()) refuses.
    #[must_use]
    pub fn insecure_directory(mut self) -> Self {
        self.settings.others = Others::Trusted;
        self
    }

    /// Is told of every change of the directory before it is made, so that a test can end the
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

/// What a compaction did.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Compacted {
    /// The bytes of the index, and of indexes that were set aside, before.
    pub bytes_before: u64,
    /// The bytes of the index now.
    pub bytes_after: u64,
    /// The records that were read, those of the system stream too.
    pub records: u64,
    /// The directories that had been set aside and are gone now, such as `sled.damaged-1`.
    pub removed: Vec<String>,
}

/// Builds a new index from the log and puts it in the place of the old one, which is removed
/// together with all that were set aside. Needs room for the new index beside the old one until
/// then.
///
/// The log is read whole and must be sound before anything is removed. A compaction that is cut
/// short, whenever that is, does no harm: the next opening takes up or cleans away what it left.
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
/// [`Error::NotAJournal`], [`Error::NewerFormat`]; [`Error::Damaged`] when the log is not sound,
/// which a repair must cure first, and when the index does not say any more up to where its frames
/// reach; [`Error::Io`] and [`Error::Index`] when the new index cannot be written.
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
    // An index that cannot be opened witnesses nothing, and is about to be replaced.
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
        // The next opening removes it as well.
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

/// The lengths of all files in a directory; none if it is not there.
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
