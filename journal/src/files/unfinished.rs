//! A directory that gets its name when it is complete. Before that it has a temporary name beside
//! it.

use std::ffi::OsStr;
use std::fs::{self, DirEntry, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::disk::sync_directory;
use super::private;
use super::private::private;
use crate::Error;
use recount_text::files::draft::{is_at, stem};

/// The suffix of all temporary names.
const END: &str = ".recount.part";

/// The file that an unfinished directory has from its creation until its rename. Only a directory
/// with it is removed: a name alone may be one that a user chose.
const MARKER: &str = "UNFINISHED";

/// A directory under construction. It is removed unless it is finished.
#[derive(Debug)]
pub(crate) struct Unfinished {
    path: PathBuf,
    /// Locked until it is finished. The directory of a killed process is recognised by its free
    /// lock.
    lock: Option<File>,
    to: PathBuf,
    finished: bool,
}

impl Unfinished {
    /// Starts a directory for a path that does not exist, or is an empty directory.
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
        let stem = stem(to.file_name().ok_or_else(occupied)?);
        remove_left(to, &stem);
        let mut number = 1_u64;
        loop {
            let mut part = stem.clone();
            part.push(format!(".{}-{number}{END}", std::process::id()));
            let path = to.with_file_name(part);
            let making = Error::io(format!("make {}", path.display()));
            match private().recursive(false).create(&path) {
                // A killed process may have had the same id; in a container it always has.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(making(error)),
                Ok(()) => match claimed(&path) {
                    Claim::Taken => {
                        // It is empty. Without a marker nothing else removes it.
                        let _left = fs::remove_dir(&path);
                        number += 1;
                    }
                    Claim::Held(lock) => {
                        let begun = Self {
                            lock,
                            path,
                            to: to.to_owned(),
                            finished: false,
                        };
                        begun.mark().map_err(making)?;
                        return Ok(begun);
                    }
                },
            }
        }
    }

    /// Creates the marker.
    fn mark(&self) -> io::Result<()> {
        let mut options = private::options();
        options.write(true).create_new(true);
        options.open(self.path.join(MARKER)).map(drop)
    }

    /// The temporary path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Renames the directory to its final name.
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        let rename = || {
            fs::remove_file(self.path.join(MARKER))?;
            sync_directory(&self.path)?;
            // Not every system lets a rename replace an empty directory.
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
            // The name of a directory that cannot be removed shows what it is.
            let _left = fs::remove_dir_all(&self.path);
        }
    }
}

/// The outcome of locking a directory that was just made.
#[derive(Debug)]
enum Claim {
    /// The directory is locked, or its file system cannot lock directories.
    Held(Option<File>),
    /// Another process holds or has removed the directory.
    Taken,
}

/// Locks a directory that was just created.
fn claimed(path: &Path) -> Claim {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Claim::Taken,
        Err(_) => return Claim::Held(None),
    };
    match file.try_lock() {
        Ok(()) if is_at(&file, path) => Claim::Held(Some(file)),
        Ok(()) | Err(TryLockError::WouldBlock) => Claim::Taken,
        Err(TryLockError::Error(_)) => Claim::Held(None),
    }
}

/// Locks a directory. `None` if another process holds the lock, if another directory has the path
/// by now, or if directories cannot be locked.
fn locked(path: &Path) -> Option<File> {
    let file = File::open(path).ok()?;
    (file.try_lock().is_ok() && is_at(&file, path)).then_some(file)
}

/// Removes the directories that killed processes left beside a path.
fn remove_left(to: &Path, stem: &OsStr) {
    let prefix = format!("{}.", stem.to_string_lossy());
    let is_part = |entry: &DirEntry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let ids = name
            .strip_prefix(&prefix)
            .and_then(|it| it.strip_suffix(END));
        let ids = ids.and_then(|it| it.split_once('-'));
        ids.is_some_and(|(process, number)| {
            process.parse::<u32>().is_ok() && number.parse::<u64>().is_ok()
        })
    };
    let beside = fs::read_dir(parent(to)).into_iter().flatten().flatten();
    for left in beside.filter(is_part) {
        let path = left.path();
        // A directory without the marker is not locked, so that its creator can lock it.
        if !left.file_type().is_ok_and(|it| it.is_dir()) || !is_marked(&path) {
            continue;
        }
        // The marker is looked at again under the lock, because it goes before the rename.
        if let Some(lock) = locked(&path).filter(|_| is_marked(&path)) {
            // The name of a directory that cannot be removed shows what it is.
            let _left = fs::remove_dir_all(&path);
            drop(lock);
        }
    }
}

/// True if a directory has the marker.
fn is_marked(path: &Path) -> bool {
    fs::symlink_metadata(path.join(MARKER)).is_ok_and(|it| it.is_file())
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
    fn only_finished_directory_remains() {
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
    fn part_with_same_process_id_is_no_obstacle() {
        let directory = tempfile::tempdir().unwrap();
        let to = directory.path().join("copy");
        let left = Unfinished::begin(&to).unwrap();
        fs::write(left.path().join("file"), "left").unwrap();
        Unfinished::begin(&to).unwrap().finish().unwrap();
        assert_eq!(fs::read_dir(&to).unwrap().count(), 0, "no marker is left");
        assert!(left.path().join("file").exists());
    }

    #[cfg(unix)]
    #[test]
    fn part_of_killed_process_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let to = directory.path().join("copy");
        let at_work = Unfinished::begin(&to).unwrap();
        let left = to.with_file_name("copy.4711-1.recount.part");
        fs::create_dir_all(left.join("log")).unwrap();
        fs::write(left.join("log/1.log"), "left").unwrap();
        fs::write(left.join(MARKER), "").unwrap();
        // The names of other paths, and names without a process id or the suffix.
        let others = [
            "copy.2026-11.part",
            "copy.4711.recount.part",
            "copy.x-1.recount.part",
            "copies.4711-1.recount.part",
            "copy.recount.part",
        ];
        for other in others {
            fs::create_dir(to.with_file_name(other)).unwrap();
            fs::write(to.with_file_name(other).join(MARKER), "").unwrap();
        }
        drop(Unfinished::begin(&to).unwrap());
        assert!(!left.exists());
        assert!(at_work.path().exists());
        for other in others {
            assert!(to.with_file_name(other).exists(), "{other}");
        }
    }

    #[test]
    fn directory_without_marker_is_never_removed() {
        let directory = tempfile::tempdir().unwrap();
        let to = directory.path().join("copy");
        let others = [
            "copy.2026-11.part",
            "copy.2026-11.recount.part",
            "copy.1-1.recount.part",
        ];
        for other in others {
            fs::create_dir(to.with_file_name(other)).unwrap();
            fs::write(to.with_file_name(other).join("file"), "x").unwrap();
        }
        // The marker is a file, no directory.
        fs::create_dir(to.with_file_name(others[2]).join(MARKER)).unwrap();
        Unfinished::begin(&to).unwrap().finish().unwrap();
        for other in others {
            assert!(to.with_file_name(other).join("file").exists(), "{other}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn pipe_with_temporary_name_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("copy.1-1.recount.part");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        drop(Unfinished::begin(&directory.path().join("copy")).unwrap());
        assert!(pipe.exists());
    }

    #[test]
    fn name_of_maximum_length_gets_shorter_temporary_name() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["x".repeat(255), format!("x{}", "\u{e9}".repeat(127))] {
            let to = directory.path().join(&name);
            let left = Unfinished::begin(&to).unwrap();
            let short = left.path().to_owned();
            assert!(short.file_name().unwrap().len() < 255);
            left.finish().unwrap();
            assert!(to.exists());
            fs::remove_dir(&to).unwrap();
            fs::create_dir(&short).unwrap();
            fs::write(short.join(MARKER), "").unwrap();
            drop(Unfinished::begin(&to).unwrap());
            assert!(
                !short.exists() || cfg!(not(unix)),
                "the next one removes it"
            );
        }
    }

    #[test]
    fn finish_does_not_replace_new_content() {
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
        let path = directory.path().join("copy.7-1.recount.part");
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
