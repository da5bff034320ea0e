//! Drafts of files: a draft gets the file's name only when it is complete.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The suffix of all draft names.
const END: &str = ".recount.part";

/// The maximum bytes of a file's name within the name of its draft. File systems allow 255 for all
/// of it, and process id, number and suffix take up to 34.
const STEM_BYTES_MAX: usize = 200;

/// Creates a locked draft in the directory of a file.
///
/// Unlocked drafts of the same file belong to killed processes and are removed. The draft of a file
/// with a long name has only the first part of the name.
///
/// # Errors
/// An I/O error.
pub fn beside(path: &Path) -> io::Result<(File, PathBuf)> {
    let stem = stem(path.file_name().unwrap_or_default());
    remove_left(path, &stem);
    let mut attempt = 0_u32;
    loop {
        let mut draft_name = stem.clone();
        let again = if attempt == 0 {
            String::new()
        } else {
            attempt.to_string()
        };
        draft_name.push(format!(".{}{again}{END}", std::process::id()));
        let draft = path.with_file_name(draft_name);
        match File::create_new(&draft) {
            Ok(file) if holds(&file, &draft) => return Ok((file, draft)),
            Ok(_) => {}
            // Another process may have had the same id; in a container it always has. Its draft
            // stays where files cannot be locked.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        attempt += 1;
    }
}

/// Locks a draft. Returns false if another process has removed or is removing it.
///
/// Before the lock is held, the other process may take the draft for one of a killed process.
fn holds(file: &File, draft: &Path) -> bool {
    match file.try_lock() {
        Ok(()) => is_at(file, draft),
        Err(TryLockError::WouldBlock) => false,
        // On a file system without locks, drafts of killed processes remain.
        Err(TryLockError::Error(_)) => true,
    }
}

/// True if a path leads to an open file or directory. Its name may be free and used again since it
/// was opened.
#[cfg(unix)]
pub fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |found: &fs::Metadata| (found.dev(), found.ino());
    let (file, path) = (file.metadata(), path.symlink_metadata());
    matches!((file, path), (Ok(file), Ok(path)) if identity(&file) == identity(&path))
}

/// True if the path exists: on other systems, an open file keeps its name.
#[cfg(not(unix))]
pub fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

/// The part of a final name that a temporary name begins with.
pub fn stem(name: &OsStr) -> OsString {
    if name.len() <= STEM_BYTES_MAX {
        return name.to_owned();
    }
    let name = name.to_string_lossy();
    let chars = name.char_indices();
    let fitting = chars.take_while(|(at, it)| at + it.len_utf8() <= STEM_BYTES_MAX);
    fitting.map(|(_, it)| it).collect::<String>().into()
}

fn remove_left(path: &Path, stem: &OsStr) {
    let directory = path.parent().filter(|it| !it.as_os_str().is_empty());
    let entries = fs::read_dir(directory.unwrap_or(Path::new(".")));
    for entry in entries.into_iter().flatten().flatten() {
        let is_file = entry.file_type().is_ok_and(|it| it.is_file());
        if !is_file || !is_draft_of(&entry.file_name(), stem) {
            continue;
        }
        let path = entry.path();
        let left = fs::OpenOptions::new().write(true).open(&path);
        if let Some(_locked) = left.ok().filter(|it| is_left(it, &path)) {
            // A draft that cannot be removed does no harm.
            let _ = fs::remove_file(&path);
        }
    }
}

/// Locks the draft of a killed process. Returns false if it has a process, or if another draft has
/// its name by now.
fn is_left(left: &File, path: &Path) -> bool {
    left.try_lock().is_ok() && is_at(left, path)
}

fn is_draft_of(found: &OsStr, stem: &OsStr) -> bool {
    let found = found.as_encoded_bytes();
    let id = found
        .strip_prefix(stem.as_encoded_bytes())
        .and_then(|it| it.strip_prefix(b"."))
        .and_then(|it| it.strip_suffix(END.as_bytes()));
    id.is_some_and(|id| !id.is_empty() && id.iter().all(u8::is_ascii_digit))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn only_drafts_without_a_process_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let kept = [
            "out.7.part",
            "out.x.recount.part",
            "other.7.recount.part",
            "out..recount.part",
        ];
        for name in kept.iter().chain(&["out.7.recount.part"]) {
            fs::write(at(name), "x").unwrap();
        }
        fs::create_dir(at("out.8.recount.part")).unwrap();
        let held = File::create(at("out.9.recount.part")).unwrap();
        held.lock().unwrap();
        let (_file, draft) = beside(&at("out")).unwrap();
        assert!(draft.exists() && !at("out.7.recount.part").exists());
        assert!(at("out.8.recount.part").exists() && at("out.9.recount.part").exists());
        assert!(kept.iter().all(|it| at(it).exists()));
    }

    /// A draft on a file system without locks looks like the directory here: it cannot be removed.
    #[test]
    fn taken_draft_names_are_skipped() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        let (_first, first) = beside(&path).unwrap();
        let (_second, second) = beside(&path).unwrap();
        assert!(first != second && first.exists() && second.exists());
        let id = std::process::id();
        let other = directory.path().join("other");
        for number in ["", "1"] {
            let taken = format!("other.{id}{number}{END}");
            fs::create_dir(directory.path().join(taken)).unwrap();
        }
        let (_third, third) = beside(&other).unwrap();
        let expected = format!("other.{id}2{END}");
        assert_eq!(third.file_name().unwrap(), expected.as_str());
    }

    #[test]
    fn name_of_maximum_length_gets_short_draft_name() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["x".repeat(255), format!("x{}", "\u{e9}".repeat(127))] {
            let path = directory.path().join(name);
            let (file, draft) = beside(&path).unwrap();
            assert!(draft.file_name().unwrap().len() < 255);
            fs::rename(&draft, &path).unwrap();
            drop(file);
            fs::write(&draft, "left").unwrap();
            let (_file, next) = beside(&path).unwrap();
            assert_eq!(next, draft, "the left one was removed");
            assert_eq!(fs::read(&next).unwrap(), b"");
            fs::remove_file(next).unwrap();
        }
    }

    #[test]
    fn draft_taken_by_another_process_is_given_up() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.7.recount.part");
        let draft = File::create_new(&path).unwrap();
        let sweeper = fs::OpenOptions::new().write(true).open(&path).unwrap();
        sweeper.try_lock().unwrap();
        assert!(!holds(&draft, &path));
        fs::remove_file(&path).unwrap();
        drop(sweeper);
        assert!(!holds(&draft, &path));
        let next = File::create_new(&path).unwrap();
        assert!(holds(&next, &path));
    }

    #[cfg(unix)]
    #[test]
    fn draft_with_the_name_of_a_left_one_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.7.recount.part");
        let left = File::create_new(&path).unwrap();
        assert!(is_left(&left, &path));
        fs::remove_file(&path).unwrap();
        let _next = File::create_new(&path).unwrap();
        assert!(!is_left(&left, &path));
    }
}
