//! The check of the users that may have written what is in a journal's directory, before anything
//! there is believed.

use std::path::Path;

use crate::Error;

/// Refuses a directory in which users other than its owner may have put or changed something: by
/// the mode of the directory, by the mode of a file in it, or by the owner of one.
///
/// Every opening does this first, unless it was told otherwise with
/// [`Options::insecure_directory`](crate::Options::insecure_directory). A program that believes
/// another file beside a journal, such as the address of a service, calls it before.
///
/// Group write is no objection where the group has the owner's own number, as where every user has
/// a group of their own. A directory that is not there passes. Where the system has no such modes,
/// everything does.
///
/// ```
/// # let directory = tempfile::tempdir().unwrap();
/// recount_journal::guard(directory.path())?;
/// # Ok::<(), recount_journal::Error>(())
/// ```
///
/// # Errors
/// [`Error::Insecure`] with the first file or directory that is not as it should be;
/// [`Error::NotYours`] where the superuser meets the directory of another user.
#[cfg(unix)]
pub fn guard(path: impl AsRef<Path>) -> Result<(), Error> {
    on_unix::guard(path.as_ref())
}

#[cfg(not(unix))]
pub fn guard(_path: impl AsRef<Path>) -> Result<(), Error> {
    Ok(())
}

#[cfg(unix)]
mod on_unix {
    use std::fs::{self, Metadata};
    use std::io::ErrorKind;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    use crate::Error;
    use crate::swap::{LOG, SLED};

    pub(super) fn guard(path: &Path) -> Result<(), Error> {
        let facts = match fs::metadata(path) {
            Ok(facts) if facts.is_dir() => facts,
            // That there is no journal is found by those that look for one.
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(looking(path)(error)),
        };
        expect_closed(path, &facts)?;
        let (user, owner) = (rustix::process::geteuid().as_raw(), facts.uid());
        if user == 0 && owner != 0 {
            return Err(Error::NotYours {
                path: path.to_owned(),
                owner,
            });
        }
        let may_own = |uid: u32| uid == owner || uid == user || uid == 0;
        entries(path, &may_own)?;
        for part in [LOG, SLED] {
            let part = path.join(part);
            if part.is_dir() {
                entries(&part, &may_own)?;
            }
        }
        Ok(())
    }

    /// Looks at what is in a directory, and not at what links there lead to.
    fn entries(directory: &Path, may_own: &dyn Fn(u32) -> bool) -> Result<(), Error> {
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
                expect_closed(&path, &facts)?;
            }
        }
        Ok(())
    }

    /// Refuses what others than its owner can write to.
    fn expect_closed(path: &Path, facts: &Metadata) -> Result<(), Error> {
        let by_all = facts.mode() & 0o002 != 0;
        let by_group = facts.mode() & 0o020 != 0 && facts.gid() != facts.uid();
        if !by_all && !by_group {
            return Ok(());
        }
        let mode = facts.mode() & 0o7777;
        let who = if by_all {
            "every user".to_owned()
        } else {
            format!("the group {}", facts.gid())
        };
        Err(Error::Insecure {
            path: path.to_owned(),
            what: format!("{who} can write to it, its mode is {mode:04o}"),
        })
    }

    fn looking(path: &Path) -> impl FnOnce(std::io::Error) -> Error + use<> {
        Error::io(format!("look at {}", path.display()))
    }
}
