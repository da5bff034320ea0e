//! The directory of a journal: its marker, which is checked first, and its lock.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::lock::{LOCK, Lock};
use crate::Error;
use crate::files::disk::sync_directory;
use crate::files::guard::guard;
use crate::files::private;
use crate::files::private::{anew, private};
use crate::files::swap::SLED;

const FORMAT: &str = "recount-journal";
const VERSION: u64 = 1;
const MARKER: &str = "JOURNAL";
const MARKER_DRAFT: &str = "JOURNAL.new";
/// The maximum length of the marker, in bytes. A written marker has a hundredth of it.
const MARKER_BYTES_MAX: u64 = 8 << 10;

/// The trust in other users that can write to the directory.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Others {
    /// Reject a directory that other users can write to.
    #[default]
    Refused,
    /// Trust files that other users wrote.
    Trusted,
}

impl Others {
    fn check(self, path: &Path) -> Result<(), Error> {
        match self {
            Self::Refused => guard(path),
            Self::Trusted => Ok(()),
        }
    }
}

/// A directory that is a journal and is locked while this value lives.
#[derive(Debug)]
pub(crate) struct Directory {
    pub(crate) path: PathBuf,
    pub(crate) journal: Uuid,
    pub(crate) created: bool,
    pub(crate) lock: Lock,
}

/// The content of the file `JOURNAL`.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Marker {
    format: String,
    version: u64,
    #[serde(default)]
    id: Uuid,
}

impl Directory {
    /// Claims a journal. With `create`, it creates a journal in an empty or missing directory.
    pub(crate) fn claim(path: &Path, create: bool, others: Others) -> Result<Self, Error> {
        Self::claim_within(path, create, Duration::ZERO, others)
    }

    /// Like [`claim`](Self::claim), but waits up to `wait` for the process that holds the journal.
    pub(crate) fn claim_within(
        path: &Path,
        create: bool,
        wait: Duration,
        others: Others,
    ) -> Result<Self, Error> {
        others.check(path)?;
        let found = read_marker(path)?;
        if found.is_none() {
            let others = names(path)?.map(|names| foreign(&names));
            match others {
                Some(others) if !others.is_empty() => return Err(not_a_journal(path, others)),
                Some(_) | None if !create => {
                    return Err(Error::Missing {
                        path: path.to_owned(),
                    });
                }
                Some(_) | None => {
                    let doing = || format!("make the directory {}", path.display());
                    make(path).map_err(Error::io(doing()))?;
                }
            }
        }
        let lock = Lock::take(path, wait)?;
        // Another process may have created the journal before this one got the lock.
        let (marker, created) =
            match found.map_or_else(|| read_marker(path), |marker| Ok(Some(marker)))? {
                Some(marker) => (marker, false),
                None => (
                    write_marker(path, Uuid::new_v4())
                        .map_err(Error::io(format!("write the marker of {}", path.display())))?,
                    true,
                ),
            };
        Ok(Self {
            path: path.to_owned(),
            journal: marker.id,
            created,
            lock,
        })
    }

    /// Claims a journal whose marker is lost or altered, given its id from another source.
    pub(crate) fn claim_unmarked(path: &Path, journal: Uuid) -> Result<Self, Error> {
        Ok(Self {
            path: path.to_owned(),
            journal,
            created: false,
            lock: Lock::take(path, Duration::ZERO)?,
        })
    }

    /// Writes the marker again.
    pub(crate) fn restore_marker(&self) -> io::Result<()> {
        write_marker(&self.path, self.journal).map(drop)
    }
}

/// Creates a directory with missing parents, and makes their names durable.
fn make(path: &Path) -> io::Result<()> {
    let whole = std::path::absolute(path)?;
    let new = whole.ancestors().skip(1).take_while(|it| !it.exists());
    let new = new.count();
    private().create(&whole)?;
    // The name of each new directory is in its parent.
    let mut above = whole.ancestors().skip(1).take(new + 1);
    above.try_for_each(sync_directory)
}

fn read_marker(path: &Path) -> Result<Option<Marker>, Error> {
    let bytes = match private::read(&path.join(MARKER), MARKER_BYTES_MAX) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return Err(not_a_journal(path, "a file".to_owned()));
        }
        Err(error) => {
            return Err(Error::io(format!("read the marker of {}", path.display()))(
                error,
            ));
        }
    };
    let text = || {
        format!(
            "a marker {:?}",
            String::from_utf8_lossy(bytes.get(..80).unwrap_or(&bytes))
        )
    };
    let value: serde_json::Value =
        serde_json::from_slice(&bytes).map_err(|_| not_a_journal(path, text()))?;
    if value.get("format").and_then(|format| format.as_str()) != Some(FORMAT) {
        return Err(not_a_journal(path, text()));
    }
    match value.get("version").and_then(serde_json::Value::as_u64) {
        Some(VERSION) => {}
        Some(found) if found > VERSION => {
            return Err(Error::NewerFormat {
                path: path.to_owned(),
                found,
                known: VERSION,
            });
        }
        Some(_) | None => return Err(not_a_journal(path, text())),
    }
    serde_json::from_value(value)
        .map(Some)
        .map_err(|_| not_a_journal(path, text()))
}

/// Returns the id of the journal in a directory, without taking a lock.
pub(crate) fn journal_at(path: &Path) -> Result<Uuid, Error> {
    match read_marker(path)? {
        Some(marker) => Ok(marker.id),
        None => match names(path)?.map(|names| foreign(&names)) {
            Some(others) if !others.is_empty() => Err(not_a_journal(path, others)),
            Some(_) | None => Err(Error::Missing {
                path: path.to_owned(),
            }),
        },
    }
}

/// The path of a journal's index.
pub(crate) fn index_place(directory: &Path) -> PathBuf {
    directory.join(SLED)
}

/// Writes the marker of a journal with this id.
pub(crate) fn write_marker(path: &Path, id: Uuid) -> io::Result<Marker> {
    let marker = Marker {
        format: FORMAT.to_owned(),
        version: VERSION,
        id,
    };
    let mut file = anew(&path.join(MARKER_DRAFT))?;
    file.write_all(&serde_json::to_vec(&marker)?)?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    fs::rename(path.join(MARKER_DRAFT), path.join(MARKER))?;
    sync_directory(path)?;
    Ok(marker)
}

/// Returns the names in the directory. `None` if it does not exist.
fn names(path: &Path) -> Result<Option<Vec<String>>, Error> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io(format!("list {}", path.display()))(error)),
    };
    let names =
        entries.map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()));
    names
        .collect::<io::Result<Vec<_>>>()
        .map(Some)
        .map_err(Error::io(format!("list {}", path.display())))
}

/// Describes the names that an unfinished journal would not have.
fn foreign(names: &[String]) -> String {
    let mut others: Vec<&str> = names
        .iter()
        .map(String::as_str)
        .filter(|name| *name != LOCK && *name != MARKER_DRAFT)
        .collect();
    others.sort_unstable();
    others.truncate(5);
    if others.is_empty() {
        String::new()
    } else {
        format!("no marker, but {}", others.join(", "))
    }
}

fn not_a_journal(path: &Path, found: String) -> Error {
    Error::NotAJournal {
        path: path.to_owned(),
        found,
    }
}

#[cfg(all(test, unix))]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn new_journal_is_private_and_given_directory_keeps_its_mode() {
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let place = tempfile::tempdir().unwrap();
        let journal = place.path().join("above/journal");
        drop(Directory::claim(&journal, true, Others::Refused).unwrap());
        assert_eq!(mode(&journal), 0o700);
        let given = place.path().join("given");
        fs::create_dir(&given).unwrap();
        fs::set_permissions(&given, fs::Permissions::from_mode(0o750)).unwrap();
        drop(Directory::claim(&given, true, Others::Refused).unwrap());
        assert_eq!(mode(&given), 0o750);
    }
}
