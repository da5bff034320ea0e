//! Writes frames, each one commit, into preallocated space, and syncs them.

use std::io;

use super::disk::{Disk, DiskFile};
use super::frame::{FRAME_HEADER, Header, SEGMENT_HEADER, SegmentHeader, segment_name};

/// The least and the most that is preallocated at a time; in between the file doubles.
const GROWTH: (u64, u64) = (256 << 10, 8 << 20);

/// The open end of the log.
pub(crate) struct LogWriter {
    file: Box<dyn DiskFile>,
    length: u64,
    end: u64,
    number: u64,
    chain: u32,
    block: Vec<u8>,
}

/// Where a commit went.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Written {
    /// The frame's number.
    pub(crate) number: u64,
    /// Its checksum.
    pub(crate) checksum: u32,
    /// Where it ends.
    pub(crate) end: u64,
}

impl LogWriter {
    /// Makes the first segment, or makes it again when its header never became whole.
    pub(crate) fn create(disk: &dyn Disk, header: &SegmentHeader) -> io::Result<Self> {
        let mut file = disk.open(&segment_name(header.segment), true)?;
        file.truncate(0)?;
        file.write_at(0, &header.encode())?;
        file.sync()?;
        disk.sync_names()?;
        Self::resume(
            file,
            Written {
                number: header.first.saturating_sub(1),
                checksum: header.chain,
                end: SEGMENT_HEADER,
            },
        )
    }

    /// Goes on behind the last frame.
    pub(crate) fn resume(mut file: Box<dyn DiskFile>, last: Written) -> io::Result<Self> {
        let length = file.length()?;
        Ok(Self {
            file,
            length,
            end: last.end,
            number: last.number,
            chain: last.checksum,
            block: Vec::new(),
        })
    }

    /// Cuts off what follows the last frame.
    pub(crate) fn cut(&mut self) -> io::Result<()> {
        self.file.truncate(self.end)?;
        self.length = self.end;
        self.file.sync()
    }

    /// Makes what was found durable once more. It may be read and yet never have been synced, when the process ended or a
    /// sync failed in between; what is appended behind it must not outlive it. The segment's header, the last frame and
    /// the names can be in such doubt, and nothing else, since each commit waits for the sync of the one before.
    pub(crate) fn settle(&mut self, disk: &dyn Disk, last_frame: u64) -> io::Result<()> {
        for (from, to) in [(0, SEGMENT_HEADER), (last_frame, self.end)] {
            let length = usize::try_from(to - from).map_err(io::Error::other)?;
            let mut bytes = vec![0; length];
            self.file.read_at(from, &mut bytes)?;
            self.file.write_at(from, &bytes)?;
        }
        self.file.sync()?;
        disk.sync_names()
    }

    /// Writes and syncs one commit. After an error the writer must not be used again.
    pub(crate) fn commit<'e>(
        &mut self,
        entries: impl Iterator<Item = &'e [u8]>,
    ) -> io::Result<Written> {
        self.block.clear();
        self.block.resize(FRAME_HEADER, 0);
        let mut count = 0;
        for entry in entries {
            self.block.extend_from_slice(entry);
            count += 1;
        }
        let (_, payload) = self
            .block
            .split_at_checked(FRAME_HEADER)
            .unwrap_or_default();
        let length =
            u32::try_from(payload.len()).map_err(|_| io::Error::other("a commit of over 4 GiB"))?;
        let number = self.number + 1;
        let header = Header {
            length,
            number,
            entries: count,
            chain: self.chain,
            payload: crc32fast::hash(payload),
        };
        let (bytes, checksum) = header.encode();
        if let Some(place) = self.block.get_mut(..FRAME_HEADER) {
            place.copy_from_slice(&bytes);
        }
        self.reserve(self.block.len() as u64)?;
        self.file.write_at(self.end, &self.block)?;
        self.file.sync()?;
        self.end += self.block.len() as u64;
        (self.number, self.chain) = (number, checksum);
        Ok(Written {
            number,
            checksum,
            end: self.end,
        })
    }

    /// Zeros are written ahead, so that a commit only overwrites and its sync has no new extents to make durable.
    fn reserve(&mut self, needed: u64) -> io::Result<()> {
        let required = self.end + needed;
        if required <= self.length {
            return Ok(());
        }
        let target = required + self.length.clamp(GROWTH.0, GROWTH.1);
        let zeros = vec![0; 64 << 10];
        while self.length < target {
            let step = (target - self.length).min(zeros.len() as u64);
            let piece = zeros
                .get(..usize::try_from(step).unwrap_or(0))
                .unwrap_or_default();
            self.file.write_at(self.length, piece)?;
            self.length += step;
        }
        self.file.sync()
    }
}
