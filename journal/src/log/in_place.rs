//! The check that the log is still at its path. A commit to moved, replaced or removed files would
//! be lost: the next process opens the journal by its path.

use std::io;

use super::frame::segment_name;
use crate::files::disk::{Disk, DiskFile, Identity};

/// The identities of the log's directory and its open segment.
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

    /// Continues with the next segment in the same directory.
    pub(super) fn roll(&mut self, file: &mut dyn DiskFile, segment: u64) -> io::Result<()> {
        self.segment = file.identity()?;
        self.name = segment_name(segment);
        Ok(())
    }

    /// Fails if the path no longer leads to this log. It makes two system calls of about a
    /// microsecond each, little beside a sync.
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
