//! The end of a log as a backup and a close note it. A log that was cut or that continued is
//! detected by it.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::Error;
use crate::files::private;
use crate::files::swap::BACKUP as NAME;
use crate::log::Written;

/// The maximum length of the file, in bytes. A written file has a hundredth of it.
const BYTES_MAX: u64 = 32 << 10;

/// The content of the file `BACKUP`, and of `end` in `CLOSED`.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Manifest {
    journal: Uuid,
    pub(crate) frame: u64,
    /// The checksum of the last frame, which covers all frames before it as well.
    checksum: u32,
    segment: u64,
    /// The end of the last frame in that segment.
    end: u64,
    pub(crate) records: u64,
}

impl Manifest {
    pub(crate) fn of(journal: Uuid, last: Written, records: u64) -> Self {
        Self {
            journal,
            frame: last.number,
            checksum: last.checksum,
            segment: last.segment,
            end: last.end,
            records,
        }
    }

    /// True if a frame is the noted last frame, at its place.
    pub(crate) fn ends_with(&self, frame: Written) -> bool {
        let Self {
            frame: number,
            checksum,
            segment,
            end,
            ..
        } = *self;
        frame
            == Written {
                number,
                checksum,
                segment,
                end,
            }
    }

    /// Reads the file `BACKUP`. `None` if the directory is not a backup.
    pub(crate) fn read(directory: &Path) -> Result<Option<Self>, Error> {
        let path = directory.join(NAME);
        let bytes = match private::read(&path, BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io(format!("read {}", path.display()))(error)),
        };
        let manifest = serde_json::from_slice(&bytes).map_err(|error| Error::Damaged {
            session: None,
            seq: None,
            what: format!("its file {NAME} cannot be read: {error}"),
        });
        manifest.map(Some)
    }

    pub(crate) fn write(&self, directory: &Path) -> io::Result<()> {
        let mut file = private::options()
            .write(true)
            .create_new(true)
            .open(directory.join(NAME))?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.write_all(b"\n")?;
        file.sync_all()
    }

    /// Describes the difference to the found end, if there is one.
    pub(crate) fn differs(&self, found: &Self) -> Option<String> {
        if found == self {
            return None;
        }
        Some(if found.journal != self.journal {
            format!(
                "it is of journal {}, the backup was of {}",
                found.journal, self.journal
            )
        } else if (found.frame, found.records) == (self.frame, self.records) {
            "its last frame is not the one that the backup ended with".to_owned()
        } else {
            format!(
                "the log ends at frame {} with {} records, the backup ended at frame {} with {}",
                found.frame, found.records, self.frame, self.records
            )
        })
    }
}

/// Removes the file `BACKUP`, which makes the directory an ordinary journal.
pub(crate) fn remove(directory: &Path) -> io::Result<()> {
    match fs::remove_file(directory.join(NAME)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
