//! A directory that gets its name when it is complete; until then it stands beside that under
//! another.

use std::ffi::OsStr;
use std::fs::{self, DirEntry, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::disk::sync_directory;
use super::private::private;
use crate::Error;

/// A directory in the making. Unless it is finished, nothing remains of it.
#[derive(Debug)]
pub(crate) struct Unfinished {
    path: PathBuf,
    /// Locked until it is finished, so that what a killed process left is known by its free lock.
    lock: Option<File>,
    to: PathBuf,
    finished: bool,
}

impl Unfinished {
    /// Begins a directory for a place where nothing stands, or an empty directory.
    pub(crate) fn begin(to: &Path) -> Result<Self, Error> {
        let occupied = || Error::Occupied {
            path: to.to_owned(),
        };
        match fs::read_dir(to).map(|mut entries| entries.next().is_some()) {
            Ok(false) => {}
            Ok(true) => return Err(occupied()),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) if error.kind() == ErrorKind::NotADirectory => return Err(occupied()),
            Err(error) => return Err(Error::io(format!("look at {}", to.display()))(error)),
        }
        let name = to.file_name().ok_or_else(occupied)?;
        remove_left(to, name);
        let mut number = 1_u64;
        loop {
            let mut part = name.to_owned();
            part.push(format!(".{}-{number}.part", std::process::id()));
            let path = to.with_file_name(part);
            match private().recursive(false).create(&path) {
                // A killed process may have had the same id: in a container it always has.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(Error::io(format!("make {}", path.display()))(error)),
                Ok(()) => match claimed(&path) {
                    Claim::Taken => number += 1,
                    Claim::Held(lock) => {
                        return Ok(Self {
                            lock,
                            path,
                            to: to.to_owned(),
                            finished: false,
                        });
                    }
                },
            }
        }
    }

    /// Where it stands until it is finished.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives it its name, for good.
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        let rename = || {
            sync_directory(&self.path)?;
            // An empty directory gives way; not every system lets a rename take its place.
            match fs::remove_dir(&self.to) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
            fs::rename(&self.path, &self.to)?;
            sync_directory(parent(&self.to))
        };
        let renamed: io::Result<()> = rename();
        renamed.map_err(Error::io(format!("give {} its name", self.to.display())))?;
        self.lock.take();
        self.finished = true;
        Ok(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.finished {
            // What cannot be removed has a name that says what it is.
            let _left = fs::remove_dir_all(&self.path);
        }
    }
}

/// The outcome of locking a directory that was just made.
#[derive(Debug)]
enum Claim {
    /// Locked, or on a file system that locks no directories.
    Held(Option<File>),
    /// Another process took it for one left behind before it was locked, and removes it.
    Taken,
}

fn claimed(path: &Path) -> Claim {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Claim::Taken,
        Err(_) => return Claim::Held(None),
    };
    match file.try_lock() {
        Ok(()) if path.exists() => Claim::Held(Some(file)),
        Ok(()) | Err(TryLockError::WouldBlock) => Claim::Taken,
        Err(TryLockError::Error(_)) => Claim::Held(None),
    }
}

/// The lock on a directory; none where another process holds it, or where directories cannot be
/// locked.
fn locked(path: &Path) -> Option<File> {
    let file = File::open(path).ok()?;
    file.try_lock().is_ok().then_some(file)
}

/// Removes the directories that killed processes left beside a place.
fn remove_left(to: &Path, name: &OsStr) {
    let prefix = format!("{}.", name.to_string_lossy());
    let is_part = |entry: &DirEntry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let ids = name
            .strip_prefix(&prefix)
            .and_then(|it| it.strip_suffix(".part"));
        let ids = ids.and_then(|it| it.split_once('-'));
        ids.is_some_and(|(process, number)| {
            process.parse::<u32>().is_ok() && number.parse::<u64>().is_ok()
        })
    };
    let beside = fs::read_dir(parent(to)).into_iter().flatten().flatten();
    for left in beside.filter(is_part) {
        let is_own = left.file_type().is_ok_and(|it| it.is_dir());
        if let Some(lock) = locked(&left.path()).filter(|_| is_own) {
            // What cannot be removed has a name that says what it is.
            let _left = fs::remove_dir_all(left.path());
            drop(lock);
        }
    }
}

fn parent(path: &Path) -> &Path {
    path.parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_finished_remains_and_nothing_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let to = directory.path().join("copy");
        let names = || fs::read_dir(directory.path()).unwrap().count();
        drop(Unfinished::begin(&to).unwrap());
        assert_eq!(names(), 0);
        fs::create_dir(&to).unwrap();
        let begun = Unfinished::begin(&to).unwrap();
        fs::write(begun.path().join("file"), "x").unwrap();
        begun.finish().unwrap();
        assert_eq!(
            (fs::read(to.join("file")).unwrap(), names()),
            (b"x".to_vec(), 1)
        );
        for taken in [to.clone(), to.join("file"), PathBuf::from("/")] {
            let refused = Unfinished::begin(&taken).unwrap_err();
            assert!(matches!(refused, Error::Occupied { .. }), "{refused}");
        }
    }

    #[test]
    fn what_a_killed_process_left_is_not_in_the_way() {
        let directory = tempfile::tempdir().unwrap();
        let to = directory.path().join("copy");
        let left = Unfinished::begin(&to).unwrap();
        fs::write(left.path().join("file"), "left").unwrap();
        Unfinished::begin(&to).unwrap().finish().unwrap();
        assert_eq!(fs::read_dir(&to).unwrap().count(), 0);
        assert!(left.path().join("file").exists());
    }

    #[cfg(unix)]
    #[test]
    fn part_of_killed_process_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let to = directory.path().join("copy");
        let at_work = Unfinished::begin(&to).unwrap();
        let left = to.with_file_name("copy.4711-1.part");
        fs::create_dir_all(left.join("log")).unwrap();
        fs::write(left.join("log/1.log"), "left").unwrap();
        // Of another place, and of no place.
        let others = [
            "copy.4711.part",
            "copy.x-1.part",
            "copies.4711-1.part",
            "copy.part",
        ];
        for other in others {
            fs::create_dir(to.with_file_name(other)).unwrap();
        }
        drop(Unfinished::begin(&to).unwrap());
        assert!(!left.exists());
        assert!(at_work.path().exists());
        for other in others {
            assert!(to.with_file_name(other).exists(), "{other}");
        }
    }

    #[test]
    fn what_comes_into_the_place_meanwhile_stays() {
        let directory = tempfile::tempdir().unwrap();
        let to = directory.path().join("copy");
        let begun = Unfinished::begin(&to).unwrap();
        fs::create_dir(&to).unwrap();
        fs::write(to.join("other"), "x").unwrap();
        begun.finish().unwrap_err();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        assert!(to.join("other").exists());
    }
    #[cfg(unix)]
    #[test]
    fn directory_taken_by_another_process_is_given_up() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("copy.7-1.part");
        fs::create_dir(&path).unwrap();
        let sweeper = locked(&path).unwrap();
        assert!(matches!(claimed(&path), Claim::Taken));
        fs::remove_dir(&path).unwrap();
        drop(sweeper);
        assert!(matches!(claimed(&path), Claim::Taken));
        fs::create_dir(&path).unwrap();
        assert!(matches!(claimed(&path), Claim::Held(Some(_))));
    }
}
