//! A read-only copy of a journal that another process has open.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::backing_up::{BackedUp, directory};
use crate::files::private;
use crate::files::private::{anew, private};
use crate::maintenance::verify;
use crate::maintenance::verify::{INDEX_MISSING, Report};
use crate::{Error, Progress};

/// The prefix of the names of all copies.
const PREFIX: &str = "recount-beside-";

/// The lock file that shows that a copy is in use.
const IN_USE: &str = "LOCK";

/// The name of the copy in its directory.
const COPY: &str = "journal";

/// The name of the lock file before it is locked.
const IN_USE_DRAFT: &str = "LOCK.new";

/// A copy of all complete commits of a journal, in a temporary directory that is removed on drop.
///
/// The copy takes no lock, so it does not disturb the process that has the journal open. It is in
/// the system's directory for temporary files, and only the user of this process can read it. The
/// copy of a killed process is removed when the next one is made.
///
/// ```
/// use recount_journal::{DiskJournal, backup::Beside};
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("journal");
/// let in_use = DiskJournal::open(&path)?;
/// let beside = Beside::of(&path, |_| {})?;
/// assert_eq!(beside.read_up_to().frames, 1);
/// assert!(DiskJournal::options(beside.path()).read_only().open().is_ok());
/// # drop(in_use);
/// # Ok::<(), recount_journal::Error>(())
/// ```
#[derive(Debug)]
pub struct Beside {
    scratch: PathBuf,
    copy: PathBuf,
    _in_use: File,
    read_up_to: BackedUp,
}

impl Beside {
    /// Copies the current content of the journal in a directory.
    ///
    /// # Errors
    /// As [`directory`], and [`Error::Io`] if there is no room for a copy.
    pub fn of(path: impl AsRef<Path>, progress: impl FnMut(Progress)) -> Result<Self, Error> {
        let scratch = std::env::temp_dir().join(format!("{PREFIX}{}", Uuid::new_v4()));
        let making = Error::io(format!("make the directory {}", scratch.display()));
        // An existing directory belongs to another user.
        private()
            .recursive(false)
            .create(&scratch)
            .map_err(making)?;
        let in_use = locked(&scratch).map_err(|error| {
            let _ = fs::remove_dir_all(&scratch);
            Error::io(format!("lock {}", scratch.display()))(error)
        })?;
        // Directories that cannot be read or removed are left to the system.
        let _ = sweep(&scratch);
        let copy = scratch.join(COPY);
        match directory(path, &copy, progress) {
            Ok(read_up_to) => Ok(Self {
                scratch,
                copy,
                _in_use: in_use,
                read_up_to,
            }),
            Err(error) => {
                // The first error is the cause.
                let _ = fs::remove_dir_all(&scratch);
                Err(error)
            }
        }
    }

    /// The directory of the copy, which is a journal.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.copy
    }

    /// The number of complete commits and records when the journal was read.
    #[must_use]
    pub fn read_up_to(&self) -> BackedUp {
        self.read_up_to
    }

    /// Verifies the copy. It ignores that the copy has no index, which belongs to the other
    /// process.
    ///
    /// # Errors
    /// As [`verify::directory`].
    pub fn verified(&self) -> Result<Report, Error> {
        let mut report = verify::directory(&self.copy)?;
        report.notes.retain(|note| note != INDEX_MISSING);
        Ok(report)
    }
}

/// Locks the directory of a copy. The file is locked before it gets its name; otherwise another
/// process could take the copy for an abandoned one, and remove it.
fn locked(scratch: &Path) -> io::Result<File> {
    let draft = scratch.join(IN_USE_DRAFT);
    let file = anew(&draft)?;
    file.lock()?;
    fs::rename(draft, scratch.join(IN_USE))?;
    Ok(file)
}

/// Removes the other copies of the same user that no process has locked.
fn sweep(scratch: &Path) -> io::Result<()> {
    let owner = owner(&fs::symlink_metadata(scratch)?);
    let beside = scratch.parent().unwrap_or(Path::new("."));
    for entry in fs::read_dir(beside)? {
        let entry = entry?;
        let is_named = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if !is_named || entry.path() == scratch {
            continue;
        }
        let facts = fs::symlink_metadata(entry.path())?;
        if !facts.is_dir() || self::owner(&facts) != owner || !is_copy(&entry.path()) {
            continue;
        }
        // A copy without a lock file is just being made.
        let lock = private::regular(private::options().read(true), &entry.path().join(IN_USE));
        let Ok(lock) = lock else {
            continue;
        };
        if lock.try_lock().is_ok() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

/// True if a directory has nothing but what a copy has. A journal with such a name has a lock file,
/// too.
fn is_copy(path: &Path) -> bool {
    let is_own = |name: &str| match name {
        IN_USE | IN_USE_DRAFT | COPY => true,
        // A copy that is being made.
        _ => name
            .strip_prefix(COPY)
            .is_some_and(|it| it.starts_with('.')),
    };
    fs::read_dir(path).is_ok_and(|mut entries| {
        entries.all(|it| it.is_ok_and(|it| is_own(&it.file_name().to_string_lossy())))
    })
}

#[cfg(unix)]
fn owner(facts: &fs::Metadata) -> u32 {
    use std::os::unix::fs::MetadataExt;
    facts.uid()
}

/// On other systems the directory of temporary files belongs to the user.
#[cfg(not(unix))]
fn owner(_: &fs::Metadata) -> u32 {
    0
}

impl Drop for Beside {
    fn drop(&mut self) {
        // A directory that cannot be removed is left to the system, which clears temporary files.
        let _ = fs::remove_dir_all(&self.scratch);
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn only_directories_of_copies_are_swept() {
        let beside = tempfile::tempdir().unwrap();
        let at = |name: &str| beside.path().join(format!("{PREFIX}{name}"));
        let sweeper = beside.path().join("sweeper");
        fs::create_dir(&sweeper).unwrap();
        // A journal of the user, which is not open, and the copy of a killed process.
        let names = [("mine", "JOURNAL"), ("left", "journal.7-1.recount.part")];
        for (name, content) in names {
            fs::create_dir(at(name)).unwrap();
            drop(locked(&at(name)).unwrap());
            fs::create_dir(at(name).join(content)).unwrap();
        }
        sweep(&sweeper).unwrap();
        assert!(at("mine").exists());
        assert!(!at("left").exists());
    }

    #[test]
    fn copy_that_is_being_made_is_not_swept() {
        let beside = tempfile::tempdir().unwrap();
        let scratch = |number: u32| beside.path().join(format!("{PREFIX}{number}"));
        let sweeper = beside.path().join("sweeper");
        fs::create_dir(&sweeper).unwrap();
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    // A directory may be removed while it is read.
                    let _ = sweep(&sweeper);
                }
            });
            let swept = (0..5_000).map(scratch).find(|scratch| {
                fs::create_dir(scratch).unwrap();
                let in_use = locked(scratch);
                let stands = in_use.is_ok() && scratch.join(IN_USE).exists();
                let _ = fs::remove_dir_all(scratch);
                !stands
            });
            done.store(true, Ordering::Relaxed);
            assert_eq!(swept, None);
        });
    }
}
