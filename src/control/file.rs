//! The file of a service in the directory of a journal: written whole and for its user alone, read
//! without trust in what lies there.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::error::ConnectError;

/// What a service writes is a tenth of this.
const FILE_BYTES_MAX: u64 = 4096;

/// A file as it was found.
pub(super) struct Found {
    pub(super) text: String,
    #[cfg(unix)]
    metadata: Metadata,
}

impl Found {
    /// The mode, where others than its user can read or write the file.
    #[cfg(unix)]
    pub(super) fn exposed(&self) -> Option<u32> {
        use std::os::unix::fs::MetadataExt;
        let mode = self.metadata.mode() & 0o777;
        (mode & 0o077 != 0).then_some(mode)
    }
}

/// Puts a file into a directory, whole or not at all, for its user alone.
pub(super) fn replace(directory: &Path, name: &str, text: &str) -> io::Result<()> {
    let draft = directory.join(format!("{name}.new"));
    // What a killed process left goes first: the draft must be made here, not be somebody's link to
    // elsewhere.
    remove(&draft)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&draft)?;
    file.write_all(text.as_bytes())?;
    file.write_all(b"\n")?;
    drop(file);
    fs::rename(&draft, directory.join(name))
}

/// Removes a file that may be there.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Reads a file: a regular one, of a size that a service writes.
pub(super) fn read(path: &Path) -> Result<Found, ConnectError> {
    let failed = |error| unreadable(path, error);
    // Looked at before it is opened: the opening of a pipe waits until somebody writes to it.
    let named = fs::symlink_metadata(path).map_err(failed)?;
    expect_regular(path, &named)?;
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    expect_regular(path, &metadata)?;
    if !is_same(&named, &metadata) {
        return Err(unusable(path, "it was replaced while it was read"));
    }
    let mut text = String::new();
    let mut bounded = file.take(FILE_BYTES_MAX + 1);
    bounded.read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        let problem = format!("expected {FILE_BYTES_MAX} bytes at most, found more");
        return Err(unusable(path, problem));
    }
    Ok(Found {
        text,
        #[cfg(unix)]
        metadata,
    })
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same(_one: &Metadata, _other: &Metadata) -> bool {
    true
}

fn expect_regular(path: &Path, metadata: &Metadata) -> Result<(), ConnectError> {
    if metadata.is_file() {
        return Ok(());
    }
    let kind = if metadata.is_dir() {
        "a directory"
    } else if metadata.is_symlink() {
        "a symbolic link"
    } else {
        "a pipe or a device"
    };
    Err(unusable(
        path,
        format!("expected a regular file, found {kind}"),
    ))
}

/// What is wrong with a file of a service.
pub(super) fn unusable(path: &Path, problem: impl Into<String>) -> ConnectError {
    ConnectError::Unreadable {
        path: path.to_owned(),
        problem: problem.into(),
    }
}

/// Why a file of a service cannot be read.
fn unreadable(path: &Path, error: io::Error) -> ConnectError {
    let path: PathBuf = path.to_owned();
    match error.kind() {
        io::ErrorKind::NotFound => ConnectError::NotOffered,
        io::ErrorKind::PermissionDenied => ConnectError::NotYours {
            owner: owner(&path),
            path,
        },
        _ => ConnectError::Unreadable {
            path,
            problem: error.to_string(),
        },
    }
}

/// Whose file it is, as far as the system says.
#[cfg(unix)]
fn owner(path: &Path) -> String {
    use std::os::unix::fs::MetadataExt;
    match fs::metadata(path) {
        Ok(metadata) => {
            let uid = metadata.uid();
            super::os_user::named(uid).unwrap_or_else(|| format!("the user {uid}"))
        }
        Err(_) => "another user".to_owned(),
    }
}

#[cfg(not(unix))]
fn owner(_path: &Path) -> String {
    "another user".to_owned()
}

#[cfg(test)]
#[cfg(unix)]
#[expect(
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]
mod tests {
    use super::*;

    #[test]
    fn whoever_may_not_read_the_file_is_told_whose_it_is() {
        let directory = tempfile::tempdir().unwrap();
        replace(directory.path(), "CONTROL", "{}").unwrap();
        let path = directory.path().join("CONTROL");
        assert_eq!(read(&path).unwrap().exposed(), None);
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        let ConnectError::NotYours { owner, .. } = unreadable(&path, denied) else {
            unreachable!("it may not be read")
        };
        assert_eq!(Some(owner), crate::control::os_user::current());
    }

    #[test]
    fn what_is_no_file_or_has_no_end_is_not_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("CONTROL");
        let problem = || match read(&path) {
            Err(ConnectError::Unreadable { problem, .. }) => problem,
            Err(error) => unreachable!("{error}"),
            Ok(_) => unreachable!("it was read"),
        };
        // A pipe that nobody writes to.
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        assert_eq!(
            problem(),
            "expected a regular file, found a pipe or a device"
        );
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        assert_eq!(problem(), "expected a regular file, found a symbolic link");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert_eq!(problem(), "expected a regular file, found a directory");
        fs::remove_dir(&path).unwrap();
        fs::write(&path, "x".repeat(5000)).unwrap();
        assert_eq!(problem(), "expected 4096 bytes at most, found more");
    }
}
