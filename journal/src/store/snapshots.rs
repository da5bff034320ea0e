//! What readers keep of streams: a file each, in a directory beside log and index.
//!
//! A cache: nothing of it is synced, and a crash may leave any of it torn, which is for the reader to find out.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::Error;
use crate::swap::SNAPSHOTS;

fn place(directory: &Path, session: Uuid) -> PathBuf {
    directory.join(SNAPSHOTS).join(session.to_string())
}

pub(super) fn read(directory: &Path, session: Uuid) -> Result<Option<Vec<u8>>, Error> {
    match fs::read(place(directory, session)) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io(format!("read the snapshot of {session}"))(error)),
    }
}

/// A reader sees either the one before or this one whole.
pub(super) fn keep(directory: &Path, session: Uuid, bytes: &[u8]) -> Result<(), Error> {
    let place = place(directory, session);
    let draft = place.with_extension("new");
    let kept = fs::create_dir_all(directory.join(SNAPSHOTS))
        .and_then(|()| fs::write(&draft, bytes))
        .and_then(|()| fs::rename(&draft, &place));
    kept.map_err(Error::io(format!("keep a snapshot of {session}")))
}
