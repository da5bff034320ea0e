//! The check of which users may have written to a journal's directory, before its content is
//! trusted.

use std::path::Path;

use crate::Error;

/// Rejects a directory in which other users than its owner may have written. It checks the mode of
/// the directory, and the mode and the owner of each file in it.
///
/// Every opening calls it first, unless
/// [`Options::insecure_directory`](crate::Options::insecure_directory) is set. A program that
/// trusts another file beside a journal, such as the address of a service, should call it first,
/// too.
///
/// Group write is allowed if the group has the owner's own number, as on systems where every user
/// has a private group. A missing directory passes. On systems without such modes, every directory
/// passes.
///
/// ```
/// # let directory = tempfile::tempdir().unwrap();
/// recount_journal::guard(directory.path())?;
/// # Ok::<(), recount_journal::Error>(())
/// ```
///
/// # Errors
/// [`Error::Insecure`] for the first file or directory that fails; [`Error::NotYours`] if the
/// superuser opens the directory of another user.
#[cfg(unix)]
pub fn guard(path: impl AsRef<Path>) -> Result<(), Error> {
    on_unix::guard(path.as_ref())
}

/// Rejects a path through a directory where other users can replace the target. Such a directory is
/// writable for every user and has no sticky bit.
///
/// A program that trusts a file with a location, such as the address of a service, should call it,
/// too. [`guard`](guard()) checks the directory itself.
///
/// ```
/// # let directory = tempfile::tempdir().unwrap();
/// recount_journal::guard_path(directory.path())?;
/// # Ok::<(), recount_journal::Error>(())
/// ```
///
/// # Errors
/// [`Error::Insecure`] with the first ancestor that every user can write to.
#[cfg(unix)]
pub fn guard_path(path: impl AsRef<Path>) -> Result<(), Error> {
    on_unix::guard_path(path.as_ref())
}

#[cfg(not(unix))]
pub fn guard_path(_path: impl AsRef<Path>) -> Result<(), Error> {
    Ok(())
}

#[cfg(not(unix))]
pub fn guard(_path: impl AsRef<Path>) -> Result<(), Error> {
    Ok(())
}

#[cfg(unix)]
pub(crate) use on_unix::guarded;

#[cfg(unix)]
mod on_unix {
    use std::fs::{self, Metadata};
    use std::io::ErrorKind;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    use crate::Error;
    use crate::files::swap::{LOG, SLED};

    /// The mode bit that lets others write.
    const WRITE: u32 = 0o002;
    const STICKY: u32 = 0o1000;

    pub(super) fn guard(path: &Path) -> Result<(), Error> {
        guarded(path, WRITE)?;
        for part in [LOG, SLED] {
            let part = path.join(part);
            if part.is_dir() {
                let owner = fs::metadata(path).map_err(looking(path))?.uid();
                entries(&part, owner, WRITE)?;
            }
        }
        Ok(())
    }

    pub(super) fn guard_path(path: &Path) -> Result<(), Error> {
        let whole = match fs::canonicalize(path) {
            Ok(whole) => whole,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(looking(path)(error)),
        };
        for above in whole.ancestors().skip(1) {
            let mode = fs::metadata(above).map_err(looking(above))?.mode();
            if mode & WRITE != 0 && mode & STICKY == 0 {
                let what = format!(
                    "every user can replace what is in it, its mode is {:04o}",
                    mode & 0o7777
                );
                return Err(Error::Insecure {
                    path: above.to_owned(),
                    what,
                });
            }
        }
        Ok(())
    }

    /// Checks a directory and its entries. `refused` are the mode bits that files must not have for
    /// others.
    pub(crate) fn guarded(path: &Path, refused: u32) -> Result<(), Error> {
        let facts = match fs::metadata(path) {
            Ok(facts) if facts.is_dir() => facts,
            // A missing journal is reported by the callers that need one.
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(looking(path)(error)),
        };
        expect_closed(path, &facts, WRITE)?;
        let (user, owner) = (rustix::process::geteuid().as_raw(), facts.uid());
        if user == 0 && owner != 0 {
            return Err(Error::NotYours {
                path: path.to_owned(),
                owner,
            });
        }
        entries(path, owner, refused)
    }

    /// Checks the entries of a directory, without following links.
    fn entries(directory: &Path, owner: u32, refused: u32) -> Result<(), Error> {
        let user = rustix::process::geteuid().as_raw();
        let may_own = |uid: u32| uid == owner || uid == user || uid == 0;
        for entry in fs::read_dir(directory).map_err(looking(directory))? {
            let path = entry.map_err(looking(directory))?.path();
            let facts = match fs::symlink_metadata(&path) {
                Ok(facts) => facts,
                // The process that has the journal open removes drafts and empty segments.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(looking(&path)(error)),
            };
            if !may_own(facts.uid()) {
                let what = format!("it belongs to another user, {}", facts.uid());
                return Err(Error::Insecure { path, what });
            }
            if !facts.is_symlink() {
                expect_closed(&path, &facts, refused)?;
            }
        }
        Ok(())
    }

    /// Rejects a file if its mode grants others one of the `refused` bits.
    fn expect_closed(path: &Path, facts: &Metadata, refused: u32) -> Result<(), Error> {
        let by_all = facts.mode() & refused;
        let by_group = if facts.gid() == facts.uid() {
            0
        } else {
            facts.mode() >> 3 & refused
        };
        if by_all | by_group == 0 {
            return Ok(());
        }
        let mode = facts.mode() & 0o7777;
        let can = if (by_all | by_group) & WRITE != 0 {
            "write to"
        } else {
            "read"
        };
        let who = if by_all != 0 {
            "every user".to_owned()
        } else {
            format!("the group {}", facts.gid())
        };
        Err(Error::Insecure {
            path: path.to_owned(),
            what: format!("{who} can {can} it, its mode is {mode:04o}"),
        })
    }

    fn looking(path: &Path) -> impl FnOnce(std::io::Error) -> Error + use<> {
        Error::io(format!("look at {}", path.display()))
    }
}
