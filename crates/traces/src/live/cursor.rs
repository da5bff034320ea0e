//! The file with the place in the journal up to which spans were delivered.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use recount_journal::{Commit, Journal};
use recount_text::files::draft;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The place in the journal up to which spans were delivered.
///
/// A repaired or restored journal may number its commits anew. So the place names the last append
/// of its commit, too.
///
/// ```json
/// {"position":42,"last":{"stream":"0199…","hash":"9f86…"}}
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    /// The position of the last commit. 0 before the first.
    pub(super) position: u64,
    /// The last append of that commit.
    last: Option<LastAppend>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct LastAppend {
    stream: Uuid,
    hash: String,
}

/// The file of a place.
#[derive(Debug)]
pub(super) struct Cursor {
    path: PathBuf,
}

impl Place {
    /// Returns the place after a commit.
    pub(super) fn after(commit: &Commit) -> Place {
        let last = commit.appends.last();
        Place {
            position: commit.position,
            last: last.and_then(|(stream, lines)| {
                Some(LastAppend {
                    stream: *stream,
                    hash: lines.last()?.leaf().to_string(),
                })
            }),
        }
    }

    /// Returns the place after the last commit of a journal.
    pub(super) async fn at_end(journal: &dyn Journal) -> Result<Place, recount_journal::Error> {
        match journal.position().await? {
            0 => Ok(Place::default()),
            last => Ok(Place::after(&journal.follow(last - 1).await?)),
        }
    }

    /// True if the journal has this place.
    pub(super) async fn is_in(
        &self,
        journal: &dyn Journal,
    ) -> Result<bool, recount_journal::Error> {
        if self.position == 0 {
            return Ok(true);
        }
        if self.position > journal.position().await? {
            return Ok(false);
        }
        let commit = journal.follow(self.position - 1).await?;
        Ok(Place::after(&commit) == *self)
    }
}

impl Cursor {
    pub(super) fn at(path: PathBuf) -> Cursor {
        Cursor { path }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the place. `None` if there is no file yet.
    pub(super) fn read(&self) -> io::Result<Option<Place>> {
        let text = match fs::read(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(Some(serde_json::from_slice(&text)?))
    }

    /// Replaces the file. After a crash there is the old one or the new one.
    pub(super) fn save(&self, place: &Place) -> io::Result<()> {
        let (mut file, draft) = draft::beside(&self.path)?;
        file.write_all(&serde_json::to_vec(place)?)?;
        file.sync_all()?;
        fs::rename(draft, &self.path)?;
        // The name is durable once its directory is synced.
        let directory = self.path.parent().filter(|it| !it.as_os_str().is_empty());
        File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
    }
}
