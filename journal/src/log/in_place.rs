//! The check that the log is still where it was opened: a commit to files that were moved, replaced
//! or removed is lost to the next process, which opens the journal by its path.

use std::io;

use super::frame::segment_name;
use crate::files::disk::{Disk, DiskFile, Identity};

/// The log's directory and its open segment, as they were opened.
pub(super) struct InPlace {
    directory: Option<Identity>,
    segment: Option<Identity>,
    name: String,
}

impl InPlace {
    pub(super) fn of(disk: &dyn Disk, file: &mut dyn DiskFile, segment: u64) -> io::Result<Self> {
        Ok(Self {
            directory: disk.identity(None)?,
            segment: file.identity()?,
            name: segment_name(segment),
        })
    }

    /// Goes on with the next segment, in the same directory.
    pub(super) fn roll(&mut self, file: &mut dyn DiskFile, segment: u64) -> io::Result<()> {
        self.segment = file.identity()?;
        self.name = segment_name(segment);
        Ok(())
    }

    /// Refuses a log whose path leads elsewhere or nowhere. Two calls of the system, about a
    /// microsecond each beside a sync.
    pub(super) fn expect(&self, disk: &dyn Disk) -> io::Result<()> {
        let (Some(directory), Some(segment)) = (self.directory, self.segment) else {
            return Ok(());
        };
        let found = disk
            .identity(None)
            .and_then(|found| Ok((found, disk.identity(Some(&self.name))?)));
        match found {
            Ok(found) if found == (Some(directory), Some(segment)) => Ok(()),
            Err(error) if !is_gone(&error) => Err(error),
            Ok(_) | Err(_) => Err(io::Error::other(
                "the log is not at its path any more: it was moved, replaced or removed",
            )),
        }
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
