//! The writer of the new log beside the old one. Undamaged frames have the same bytes as before,
//! because a frame follows from its appends, its number and the previous frame.

use std::io;

use uuid::Uuid;

use crate::files::disk::{Disk, DiskFile, RealDisk};
use crate::files::swap::Names;
use crate::log::{FRAME_HEADER, Header, SEGMENT_HEADER, SegmentHeader, Written, segment_name};

/// The maximum length of a segment, in bytes, if the old segments are unknown.
const SEGMENT_BYTES: u64 = 64 << 20;

/// The log under construction. In a dry run only its checksums are computed.
pub(super) struct NewLog<'n> {
    to: Option<(RealDisk, &'n Names)>,
    journal: Uuid,
    file: Option<Box<dyn DiskFile>>,
    pub(super) last: Written,
    /// The segment of the last frame in the old log.
    old_segment: Option<u64>,
}

impl<'n> NewLog<'n> {
    pub(super) fn new(to: Option<(RealDisk, &'n Names)>, journal: Uuid) -> Self {
        Self {
            to,
            journal,
            file: None,
            last: Written::NOTHING,
            old_segment: None,
        }
    }

    /// Adds a frame of these appends, each with its header. It starts a segment where the old log
    /// did.
    pub(super) fn frame(
        &mut self,
        appends: &[&[u8]],
        old_segment: Option<u64>,
    ) -> io::Result<Written> {
        let too_long = |_| io::Error::other("a frame of over 4 GiB");
        let mut bytes = vec![0; FRAME_HEADER];
        appends.iter().for_each(|it| bytes.extend_from_slice(it));
        let payload = bytes.get(FRAME_HEADER..).unwrap_or_default();
        let header = Header {
            length: u32::try_from(payload.len()).map_err(too_long)?,
            number: self.last.number + 1,
            appends: u32::try_from(appends.len()).map_err(too_long)?,
            chain: self.last.checksum,
            payload: crc32fast::hash(payload),
        };
        let (encoded, checksum) = header.encode();
        if let Some(place) = bytes.get_mut(..FRAME_HEADER) {
            place.copy_from_slice(&encoded);
        }
        let length = bytes.len() as u64;
        let rolls = match (self.old_segment, old_segment) {
            (Some(before), Some(now)) => before != now,
            (_, None) => self.last.end + length > SEGMENT_BYTES,
            (None, Some(_)) => false,
        };
        if rolls || self.last.segment == 0 {
            self.roll()?;
        }
        self.old_segment = old_segment.or(self.old_segment);
        if let Some(file) = &mut self.file {
            file.write_at(self.last.end, &bytes)?;
        }
        self.last = Written {
            number: header.number,
            checksum,
            end: self.last.end + length,
            ..self.last
        };
        Ok(self.last)
    }

    /// Makes everything durable.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.sync()?;
        self.to.map_or(Ok(()), |(disk, _)| disk.sync_names())
    }

    fn roll(&mut self) -> io::Result<()> {
        self.sync()?;
        let header = SegmentHeader::after(self.journal, self.last);
        if let Some((disk, _)) = &self.to {
            let mut file = disk.open(&segment_name(header.segment), true)?;
            file.write_at(0, &header.encode())?;
            self.file = Some(file);
        }
        self.last = Written {
            segment: header.segment,
            end: SEGMENT_HEADER,
            ..self.last
        };
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        if let (Some(file), Some((_, names))) = (&mut self.file, &self.to) {
            names.step("sync a segment of the new log");
            file.sync()?;
        }
        Ok(())
    }
}
