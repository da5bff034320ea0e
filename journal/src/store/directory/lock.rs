//! The locks of a journal: one on the file `LOCK`, and one on the first segment of the log.
//!
//! `LOCK` can be removed and created again while a process holds it. The first segment cannot: a
//! log without it is damaged. It is the same file under any path to the journal, whether moved,
//! mounted or linked.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::Error;
use crate::files::disk::identity;
use crate::files::private;
use crate::files::swap::LOG;
use crate::log::segment_name;

pub(in crate::store) const LOCK: &str = "LOCK";

/// The pause between two attempts to take a lock.
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The locks on a directory, released on drop.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    /// The first segment, once it exists.
    log: Option<File>,
    /// True if files can be written in the directory.
    pub(crate) can_write: bool,
}

impl Drop for Lock {
    /// Unlocks explicitly. After closing alone, a child process that is being started could still
    /// share the file and its lock.
    fn drop(&mut self) {
        for file in self.log.iter().chain([&self.file]) {
            // Closing the file follows, and unlocks as well.
            let _unlocked = file.unlock();
        }
    }
}

impl Lock {
    /// Locks a directory, and waits up to `wait` for its holder.
    pub(in crate::store) fn take(path: &Path, wait: Duration) -> Result<Self, Error> {
        let begun = Instant::now();
        let doing = Error::io(format!("lock the journal at {}", path.display()));
        let (file, can_write) = opened(path).map_err(doing)?;
        locked(&file, path, wait)?;
        let mut lock = Self {
            file,
            log: None,
            can_write,
        };
        lock.hold_log_within(path, wait.saturating_sub(begun.elapsed()))?;
        Ok(lock)
    }

    /// Locks the first segment of the log, if it is a new file since the last call.
    ///
    /// # Errors
    /// [`Error::InUse`] if another process or handle holds it.
    pub(crate) fn hold_log(&mut self, path: &Path) -> Result<(), Error> {
        self.hold_log_within(path, Duration::ZERO)
    }

    fn hold_log_within(&mut self, path: &Path, wait: Duration) -> Result<(), Error> {
        // On other systems a locked file cannot be read through another handle, and cannot be
        // removed while it is open.
        if !cfg!(unix) {
            return Ok(());
        }
        let place = path.join(LOG).join(segment_name(1));
        let written = private::regular(private::options().write(true), &place);
        // A log that cannot be opened is reported by the reader of the log.
        let read = |_| private::regular(File::options().read(true), &place);
        let Ok(file) = written.or_else(read) else {
            return Ok(());
        };
        let of = |file: &File| file.metadata().ok().as_ref().and_then(identity);
        if self.log.as_ref().is_some_and(|held| of(held) == of(&file)) {
            return Ok(());
        }
        match locked(&file, path, wait) {
            Ok(()) => self.log = Some(file),
            Err(error @ Error::InUse { .. }) => return Err(error),
            // Some file systems cannot lock a file that is open for reading only. `LOCK` is held
            // anyway.
            Err(_) => {}
        }
        Ok(())
    }
}

/// Opens the file `LOCK`. Returns true if it can be written.
fn opened(path: &Path) -> io::Result<(File, bool)> {
    let mut options = private::options();
    options.create(true).truncate(false).write(true);
    match private::regular(&options, &path.join(LOCK)) {
        Ok(file) => Ok((file, true)),
        Err(error) => match error.kind() {
            // A read-only directory, such as a disk of backups, can still be read.
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
                let mut options = private::options();
                let looked = private::regular(options.read(true), &path.join(LOCK));
                let looked = looked.or_else(|_| File::open(path));
                looked.map(|file| (file, false)).map_err(|_| error)
            }
            _ => Err(error),
        },
    }
}

fn locked(file: &File, path: &Path, wait: Duration) -> Result<(), Error> {
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            // The system has no lock call with a timeout, so this polls.
            Err(TryLockError::WouldBlock) if begun.elapsed() < wait => {
                thread::sleep(LOCK_POLL_INTERVAL.min(wait));
            }
            Err(TryLockError::WouldBlock) => {
                return Err(Error::InUse {
                    path: path.to_owned(),
                });
            }
            Err(TryLockError::Error(error)) => {
                let doing = format!("lock the journal at {}", path.display());
                return Err(Error::io(doing)(error));
            }
        }
    }
}
