//! The file with the place in the journal up to which spans were delivered.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use recount_journal::FollowPlace;
use recount_text::files::draft;

/// The file of a place.
#[derive(Debug)]
pub(super) struct Cursor {
    path: PathBuf,
}

impl Cursor {
    pub(super) fn at(path: PathBuf) -> Cursor {
        Cursor { path }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the place. `None` if there is no file yet.
    pub(super) fn read(&self) -> io::Result<Option<FollowPlace>> {
        let text = match fs::read(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(Some(serde_json::from_slice(&text)?))
    }

    /// Replaces the file. After a crash there is the old one or the new one.
    pub(super) fn save(&self, place: &FollowPlace) -> io::Result<()> {
        let (mut file, draft) = draft::beside(&self.path)?;
        file.write_all(&serde_json::to_vec(place)?)?;
        file.sync_all()?;
        fs::rename(draft, &self.path)?;
        // The name is durable once its directory is synced.
        let directory = self.path.parent().filter(|it| !it.as_os_str().is_empty());
        File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
    }
}
