//! Files and directories that only the user of this process can use. Records contain arguments and
//! names, and a process that can open the lock can hold it.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// Creates directories with mode 0700, including missing parents.
pub(crate) fn private() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Creates a file for writing. It first removes a file that a killed process left, or a link, which
/// it never follows.
pub(crate) fn anew(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    options().write(true).create_new(true).open(path)
}

/// The options for opening a file of a journal: mode 0600 for a new file. Links are not followed,
/// and opening a pipe does not wait for its other end.
pub(crate) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
    }
    options
}

/// Opens a file of a journal. It rejects anything but a regular file before opening it, because
/// opening a pipe or a device may wait or have an effect. It checks the opened file again.
pub(crate) fn regular(options: &OpenOptions, path: &Path) -> io::Result<File> {
    match fs::symlink_metadata(path) {
        Ok(facts) => expect(Metadata::is_file, &facts)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let file = options.open(path)?;
    expect(Metadata::is_file, &file.metadata()?)?;
    Ok(file)
}

/// Rejects a directory that contains, at any depth, anything but directories and regular files.
/// Links are followed. A missing directory passes.
pub(crate) fn expect_regular_in(directory: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let path = entry?.path();
        match fs::metadata(&path) {
            Ok(facts) if facts.is_dir() => expect_regular_in(&path)?,
            Ok(facts) => expect(Metadata::is_file, &facts).map_err(|error| {
                io::Error::new(error.kind(), format!("{}: {error}", path.display()))
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads a file of a journal or of a key store: a regular file of at most `limit` bytes, and no
/// link.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    bounded(
        Metadata::is_file,
        regular(options().read(true), path)?,
        limit,
    )
}

/// Reads a file that a user names: a regular file or a pipe of at most `limit` bytes, or a link to
/// one.
pub(crate) fn read_given(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let may_be = |facts: &Metadata| facts.is_file() || is_pipe(facts);
    // Opening a device may have a side effect.
    expect(may_be, &fs::metadata(path)?)?;
    bounded(may_be, File::open(path)?, limit)
}

fn bounded(may_be: fn(&Metadata) -> bool, file: File, limit: u64) -> io::Result<Vec<u8>> {
    expect(may_be, &file.metadata()?)?;
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 <= limit {
        return Ok(bytes);
    }
    let found = format!("expected {limit} bytes at most, found more");
    Err(io::Error::new(io::ErrorKind::FileTooLarge, found))
}

fn expect(may_be: fn(&Metadata) -> bool, facts: &Metadata) -> io::Result<()> {
    if may_be(facts) {
        return Ok(());
    }
    let kind = if facts.is_dir() {
        "a directory"
    } else if facts.is_symlink() {
        "a symbolic link"
    } else {
        "a device, a pipe or a socket"
    };
    let found = format!("expected a regular file, found {kind}");
    Err(io::Error::new(io::ErrorKind::InvalidInput, found))
}

#[cfg(unix)]
fn is_pipe(facts: &Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&facts.file_type())
}

#[cfg(not(unix))]
fn is_pipe(_facts: &Metadata) -> bool {
    false
}

#[cfg(all(test, unix))]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn files_without_end_links_and_large_files_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let (path, link) = (directory.path().join("file"), directory.path().join("link"));
        fs::write(&path, "12345678").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let error_of = |read: io::Result<Vec<u8>>| read.unwrap_err().to_string();
        assert_eq!(read(&path, 8).unwrap(), b"12345678");
        assert_eq!(read_given(&link, 8).unwrap(), b"12345678");
        let expected = "expected a regular file, found a symbolic link";
        assert_eq!(error_of(read(&link, 8)), expected);
        for read in [read, read_given] {
            assert_eq!(
                error_of(read(&path, 7)),
                "expected 7 bytes at most, found more"
            );
            assert!(error_of(read(Path::new("/dev/zero"), 7)).contains("found a device"));
            assert!(error_of(read(directory.path(), 7)).contains("found a directory"));
        }
    }
}
