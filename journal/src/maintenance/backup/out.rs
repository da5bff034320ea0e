//! The log that a copy writes, segment by segment.

use std::io;

use crate::files::disk::{Disk, DiskFile};
use crate::log::{SegmentHeader, segment_name};

/// The number of bytes that are gathered before a write.
pub(super) const GATHER: usize = 1 << 20;

/// The log under construction.
pub(super) struct Out<'d> {
    disk: &'d dyn Disk,
    file: Option<Box<dyn DiskFile>>,
    /// The written bytes of the current file.
    length: u64,
    gathered: Vec<u8>,
    /// The total of bytes taken.
    pub(super) bytes: u64,
}

impl<'d> Out<'d> {
    pub(super) fn new(disk: &'d dyn Disk) -> Self {
        Self {
            disk,
            file: None,
            length: 0,
            gathered: Vec::new(),
            bytes: 0,
        }
    }

    /// Continues in a new segment.
    pub(super) fn begin(&mut self, header: &SegmentHeader) -> io::Result<()> {
        self.sync()?;
        self.file = Some(self.disk.open(&segment_name(header.segment), true)?);
        self.length = 0;
        self.write(&header.encode())
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.gathered.extend_from_slice(bytes);
        self.bytes += bytes.len() as u64;
        if self.gathered.len() >= GATHER {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(file) = self.file.as_mut() {
            file.write_at(self.length, &self.gathered)?;
            self.length += self.gathered.len() as u64;
            self.gathered.clear();
        }
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.file.as_mut().map_or(Ok(()), |file| file.sync())
    }

    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.sync()?;
        self.disk.sync_names()
    }
}
