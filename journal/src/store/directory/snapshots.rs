//! The directory `snapshots/` beside the log and the index.
//!
//! It has the snapshots of streams that readers keep, one file each, and the journal's own file
//! with the rows of waiting streams. They are a cache. Nothing is synced, so a crash may leave a
//! torn file, which its reader must detect.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use uuid::Uuid;

use crate::Error;
use crate::files::private;
use crate::files::private::{anew, private};
use crate::files::swap::SNAPSHOTS;

/// The file extension of drafts.
const DRAFT: &str = "new";

/// The maximum length of a file, in bytes: a folded session of some million records.
const BYTES_MAX: u64 = 1 << 30;

/// The file of the journal itself: the rows of the streams that wait for an answer, written by a
/// clean close.
const WAITING: &str = "waiting";

pub(in crate::store) fn read(directory: &Path, session: Uuid) -> Result<Option<Vec<u8>>, Error> {
    let read = read_file(directory, &session.to_string());
    read.map_err(Error::io(format!("read the snapshot of {session}")))
}

/// Writes a snapshot. A reader sees either the previous one or the complete new one.
pub(in crate::store) fn keep(directory: &Path, session: Uuid, bytes: &[u8]) -> Result<(), Error> {
    let kept = keep_file(directory, &session.to_string(), bytes);
    kept.map_err(Error::io(format!("keep a snapshot of {session}")))
}

pub(super) fn place_of_waiting(directory: &Path) -> PathBuf {
    directory.join(SNAPSHOTS).join(WAITING)
}

/// Reads the rows of waiting streams.
pub(in crate::store) fn waiting(directory: &Path) -> Option<Vec<u8>> {
    read_file(directory, WAITING).ok().flatten()
}

/// Writes the rows of waiting streams, or removes the previous ones.
pub(in crate::store) fn keep_waiting(directory: &Path, bytes: Option<&[u8]>) -> io::Result<()> {
    match bytes {
        Some(bytes) => keep_file(directory, WAITING, bytes),
        None => match fs::remove_file(place_of_waiting(directory)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        },
    }
}

fn read_file(directory: &Path, name: &str) -> io::Result<Option<Vec<u8>>> {
    match private::read(&directory.join(SNAPSHOTS).join(name), BYTES_MAX) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn keep_file(directory: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    static DRAFTS: AtomicU64 = AtomicU64::new(0);
    let place = directory.join(SNAPSHOTS).join(name);
    // Each writer has its own draft, so that none renames an incomplete draft of another.
    let draft = DRAFTS.fetch_add(1, Ordering::Relaxed);
    let draft = place.with_extension(format!("{draft}.{DRAFT}"));
    let made = match private().recursive(false).create(directory.join(SNAPSHOTS)) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => Ok(()),
    };
    let kept = made
        .and_then(|()| anew(&draft))
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&draft, &place));
    if kept.is_err() {
        // A draft that cannot be removed now is removed by the next opening.
        let _ = fs::remove_file(&draft);
    }
    kept
}

/// Removes the drafts of a process that ended while it wrote. The caller holds the journal's lock.
pub(in crate::store) fn remove_drafts(directory: &Path) {
    let kept = fs::read_dir(directory.join(SNAPSHOTS));
    for file in kept.into_iter().flatten().flatten() {
        let path = file.path();
        if path.extension().is_some_and(|it| it == DRAFT) {
            // A leftover file does no harm in a cache.
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn writers_use_own_drafts_and_leftovers_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let (place, session) = (directory.path(), Uuid::from_u128(7));
        std::thread::scope(|all| {
            for writer in 0..8_u8 {
                all.spawn(move || {
                    for _ in 0..50 {
                        keep(place, session, &[writer; 4_096]).unwrap();
                    }
                });
            }
        });
        let kept = read(place, session).unwrap().unwrap();
        assert_eq!(kept.len(), 4_096);
        let left = place.join(SNAPSHOTS).join(format!("{session}.3.new"));
        fs::write(&left, "half").unwrap();
        remove_drafts(place);
        assert!(!left.exists());
        assert_eq!(read(place, session).unwrap(), Some(kept));
    }
}
