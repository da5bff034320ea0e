//! The control file in a journal's directory: written atomically for its user alone, read with
//! checks against forged files.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::error::ConnectError;

/// The maximum size of the file, in bytes. A service writes a tenth of it.
const FILE_BYTES_MAX: u64 = 4096;

/// A file that was read.
pub(super) struct Found {
    pub(super) text: String,
    #[cfg(unix)]
    metadata: Metadata,
}

impl Found {
    /// Returns the mode if users other than the owner can read or write the file.
    #[cfg(unix)]
    pub(super) fn exposed(&self) -> Option<u32> {
        use std::os::unix::fs::MetadataExt;
        let mode = self.metadata.mode() & 0o777;
        (mode & 0o077 != 0).then_some(mode)
    }
}

/// Writes a file atomically, with access for its user alone.
pub(super) fn replace(directory: &Path, name: &str, text: &str) -> io::Result<()> {
    let draft = directory.join(format!("{name}.new"));
    // A killed process may have left a draft, and another user may have planted a link. The draft
    // must be a new file.
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

/// Removes a file if it exists.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Reads a regular file of at most [`FILE_BYTES_MAX`] bytes.
pub(super) fn read(path: &Path) -> Result<Found, ConnectError> {
    let failed = |error| unreadable(path, error);
    // The type is checked before opening, because opening a pipe blocks until it has a writer.
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

/// Creates the error for a file that cannot be used.
pub(super) fn unusable(path: &Path, problem: impl Into<String>) -> ConnectError {
    ConnectError::Unreadable {
        path: path.to_owned(),
        problem: problem.into(),
    }
}

/// Creates the error for a file that cannot be read.
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

/// The name of the file's owner, if the system knows it.
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
    fn unreadable_file_reports_its_owner() {
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
    fn irregular_or_endless_file_is_rejected() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("CONTROL");
        let problem = || match read(&path) {
            Err(ConnectError::Unreadable { problem, .. }) => problem,
            Err(error) => unreachable!("{error}"),
            Ok(_) => unreachable!("it was read"),
        };
        // Opening this pipe would block, because it has no writer.
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
