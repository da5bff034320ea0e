//! Reading of files that a user names, completely and within a size limit.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// The file names of standard input. It is read up to the limit whether it is a pipe, a terminal or
/// a device.
const STANDARD_INPUT: [&str; 3] = ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];

/// Reads a regular file or a pipe, such as one from process substitution, of at most `limit` bytes.
///
/// # Errors
/// An error with the expected and the found kind or size, for other kinds of files or larger ones.
/// Otherwise an I/O error.
pub fn text(path: &Path, limit: u64) -> io::Result<String> {
    // Opening a device may already have an effect.
    expect_file(path, &fs::metadata(path)?, limit)?;
    let file = File::open(path)?;
    expect_file(path, &file.metadata()?, limit)?;
    bounded(file, limit)
}

/// Reads standard input, of at most `limit` bytes.
///
/// # Errors
/// As for [`text`].
pub fn standard_input(limit: u64) -> io::Result<String> {
    bounded(io::stdin().lock(), limit)
}

fn bounded(from: impl Read, limit: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    from.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        let found = format!("expected {} at most, found more", size(limit));
        return Err(io::Error::new(ErrorKind::FileTooLarge, found));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let found = format!("expected text in UTF-8, found other bytes at byte {at}");
        io::Error::new(ErrorKind::InvalidData, found)
    })
}

fn expect_file(path: &Path, facts: &Metadata, limit: u64) -> io::Result<()> {
    let is_input = STANDARD_INPUT.iter().any(|it| path == Path::new(it));
    if facts.is_file() || is_input || is_pipe(facts) {
        return Ok(());
    }
    let kind = if facts.is_dir() {
        "a directory"
    } else {
        "a device or a socket"
    };
    let limit = size(limit);
    let found = format!("expected a file or a pipe of {limit} at most, found {kind}");
    Err(io::Error::new(ErrorKind::InvalidInput, found))
}

#[cfg(unix)]
fn is_pipe(facts: &Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&facts.file_type())
}

#[cfg(not(unix))]
fn is_pipe(_facts: &Metadata) -> bool {
    false
}

/// Formats a limit for people.
fn size(bytes: u64) -> String {
    match bytes >> 20 {
        0 => format!("{bytes} bytes"),
        mebibytes => format!("{mebibytes} MiB"),
    }
}

#[cfg(all(test, unix))]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn endless_and_large_files_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("given");
        let told = |path: &Path| text(path, 8).unwrap_err().to_string();
        fs::write(&path, "12345678").unwrap();
        assert_eq!(text(&path, 8).unwrap(), "12345678");
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert_eq!(text(&link, 8).unwrap(), "12345678");
        fs::write(&path, "123456789").unwrap();
        assert_eq!(told(&path), "expected 8 bytes at most, found more");
        fs::write(&path, [b'1', 0xff]).unwrap();
        assert_eq!(
            told(&path),
            "expected text in UTF-8, found other bytes at byte 1"
        );
        for (path, found) in [
            (Path::new("/dev/zero"), "a device or a socket"),
            (directory.path(), "a directory"),
        ] {
            let expected = "expected a file or a pipe of 8 bytes at most, found";
            assert_eq!(told(path), format!("{expected} {found}"));
        }
        let gone = text(&directory.path().join("none"), 8).unwrap_err();
        assert_eq!(gone.kind(), ErrorKind::NotFound);
        assert_eq!(size(3 << 20), "3 MiB");
    }

    #[test]
    fn pipe_is_read_up_to_the_limit() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        for (written, read) in [("1234", Some("1234")), ("123456789", None)] {
            let writer = path.clone();
            let writing = std::thread::spawn(move || fs::write(writer, written));
            assert_eq!(text(&path, 8).ok().as_deref(), read);
            // The reader may have closed the pipe before everything was written.
            let _ = writing.join().unwrap();
        }
    }
}
