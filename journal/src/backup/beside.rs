//! A consistent prefix of a journal that another process has open, to look at.

use std::fs;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::{BackedUp, directory};
use crate::private::private;
use crate::verify::{self, INDEX_MISSING, Report};
use crate::{Error, Progress};

/// A copy of all whole commits of a journal, in a directory of its own that goes with this value.
///
/// The copy takes no lock, so the process that has the journal open is not disturbed. It stands where
/// the system keeps temporary files, for the user of this process alone.
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
    read_up_to: BackedUp,
}

impl Beside {
    /// Copies the journal in a directory as it is now.
    ///
    /// # Errors
    /// As [`directory`], and [`Error::Io`] where there is no room for a copy.
    pub fn of(path: impl AsRef<Path>, progress: impl FnMut(Progress)) -> Result<Self, Error> {
        let scratch = std::env::temp_dir().join(format!("recount-{}", Uuid::new_v4()));
        let making = Error::io(format!("make the directory {}", scratch.display()));
        // A directory that is there already is somebody else's.
        private()
            .recursive(false)
            .create(&scratch)
            .map_err(making)?;
        let copy = scratch.join("journal");
        match directory(path, &copy, progress) {
            Ok(read_up_to) => Ok(Self {
                scratch,
                copy,
                read_up_to,
            }),
            Err(error) => {
                // The first error is the one that says why.
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

    /// The number of commits and records that were whole when the journal was read.
    #[must_use]
    pub fn read_up_to(&self) -> BackedUp {
        self.read_up_to
    }

    /// Verifies what was read. The index belongs to the process that has the journal open, so it is
    /// not looked at.
    ///
    /// # Errors
    /// As [`verify::directory`].
    pub fn verified(&self) -> Result<Report, Error> {
        let mut report = verify::directory(&self.copy)?;
        report.notes.retain(|note| note != INDEX_MISSING);
        Ok(report)
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // What cannot be removed is left to the system, which clears its temporary files.
        let _ = fs::remove_dir_all(&self.scratch);
    }
}
