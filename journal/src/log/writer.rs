//! The writer of the log. It writes each commit as one frame into preallocated space, syncs it, and
//! continues from segment to segment.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use uuid::Uuid;

use super::frame::{
    FRAME_HEADER, FrameBytes, Header, SEGMENT_HEADER, SegmentHeader, Written, segment_name,
};
use super::in_place::InPlace;
use crate::files::disk::{Disk, DiskFile};

/// The minimum and maximum preallocation, in bytes, of a segment that was not prepared. Within this
/// range it is as much as this writer has written to the segment. A commit waits for it, so it must
/// be short. A journal with few appends needs little, and many appends should not wait often.
const GROWTH: (u64, u64) = (256 << 10, 4 << 20);
/// The number of bytes of the next segment that are synced at a time. A sync of the log waits for
/// them, so they must be few.
const STEP: u64 = 256 << 10;

/// The open end of the log.
pub(crate) struct LogWriter {
    disk: Arc<dyn Disk>,
    journal: Uuid,
    file: Box<dyn DiskFile>,
    length: u64,
    last: Written,
    /// The end of the open segment when this writer began to write to it.
    begun: u64,
    /// The header of a segment without a frame. It is written with the first frame, so that a roll
    /// needs no sync of its own.
    header: Option<SegmentHeader>,
    limit: u64,
    next: Option<Prepared>,
    place: InPlace,
}

/// The next segment, which is zeroed and synced ahead while this one fills.
type Prepared = JoinHandle<io::Result<Box<dyn DiskFile>>>;

impl LogWriter {
    /// Creates the first segment.
    pub(crate) fn create(disk: Arc<dyn Disk>, journal: Uuid, limit: u64) -> io::Result<Self> {
        let header = SegmentHeader::after(journal, Written::NOTHING);
        let name = segment_name(header.segment);
        if disk.list()?.contains(&name) {
            // A name whose sync failed may be lost even if a later sync succeeds. A new name is
            // safe.
            disk.remove(&name)?;
        }
        let mut file = disk.open(&name, true)?;
        file.truncate(0)?;
        file.sync()?;
        disk.sync_names()?;
        let last = Written {
            segment: header.segment,
            end: SEGMENT_HEADER,
            ..Written::NOTHING
        };
        let mut writer = Self::resume(disk, journal, limit, file, last)?;
        writer.header = Some(header);
        Ok(writer)
    }

    /// Continues after the last frame of the open segment.
    pub(crate) fn resume(
        disk: Arc<dyn Disk>,
        journal: Uuid,
        limit: u64,
        mut file: Box<dyn DiskFile>,
        last: Written,
    ) -> io::Result<Self> {
        let length = file.length()?;
        let place = InPlace::of(&*disk, &mut *file, last.segment)?;
        Ok(Self {
            disk,
            journal,
            file,
            length,
            last,
            begun: last.end,
            header: None,
            limit,
            next: None,
            place,
        })
    }

    /// Cuts off the bytes after the last frame, and removes prepared segments.
    pub(crate) fn cut(&mut self, unused: &[u64]) -> io::Result<()> {
        if self.length != self.last.end {
            self.file.truncate(self.last.end)?;
            self.length = self.last.end;
            self.file.sync()?;
        }
        for number in unused {
            self.disk.remove(&segment_name(*number))?;
        }
        if unused.is_empty() {
            Ok(())
        } else {
            self.disk.sync_names()
        }
    }

    /// Writes and syncs the last frame again, with the segment header if it is the first frame. In
    /// a segment without a frame, it writes only the header. The last frame is then in the previous
    /// segment, and was synced before this one was begun.
    pub(crate) fn write_again(&mut self, last: &FrameBytes) -> io::Result<()> {
        let start = self.last.end.saturating_sub(last.0.len() as u64);
        if self.last.end > SEGMENT_HEADER && start > SEGMENT_HEADER {
            self.file.write_at(start, &last.0)?;
        } else {
            // One write, as the first time: both headers share a sector, so a torn write cannot
            // separate them.
            let mut bytes = vec![0; SEGMENT_HEADER as usize];
            self.file.read_at(0, &mut bytes)?;
            if self.last.end > SEGMENT_HEADER {
                bytes.extend_from_slice(&last.0);
            }
            self.file.write_at(0, &bytes)?;
        }
        self.file.sync()
    }

    /// Cuts off everything but frames.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        let prepared = self.next.take().map(joined).transpose()?;
        let unused = prepared.map(|_| self.last.segment + 1);
        self.cut(unused.as_slice())
    }

    /// Writes and syncs one commit. After [`Unwritten::Failed`] the writer must not be used again.
    pub(crate) fn commit<'e>(
        &mut self,
        appends: impl Iterator<Item = &'e [u8]> + Clone,
    ) -> Result<(Written, FrameBytes), Unwritten> {
        // The frame stays in memory until the index has it, so it reserves exactly the capacity
        // that it needs.
        let appends_bytes: usize = appends.clone().map(<[u8]>::len).sum();
        let mut frame_bytes = Vec::with_capacity(FRAME_HEADER + appends_bytes);
        frame_bytes.resize(FRAME_HEADER, 0);
        let mut count = 0;
        for append in appends {
            frame_bytes.extend_from_slice(append);
            count += 1;
        }
        let mut frame_bytes = FrameBytes(frame_bytes);
        let length = u32::try_from(frame_bytes.0.len())
            .map_err(|_| io::Error::other("a commit of over 4 GiB"))?
            - FRAME_HEADER as u32;
        let header = Header {
            length,
            number: self.last.number + 1,
            appends: count,
            chain: self.last.checksum,
            payload: crc32fast::hash(frame_bytes.payload()),
        };
        let (bytes, checksum) = header.encode();
        if let Some(place) = frame_bytes.0.get_mut(..FRAME_HEADER) {
            place.copy_from_slice(&bytes);
        }
        let size = frame_bytes.0.len() as u64;
        if let Err(error) = self.put(&frame_bytes) {
            return Err(self.taken_back(error));
        }
        self.file.sync()?;
        self.header = None;
        self.place.expect(&*self.disk)?;
        self.last = Written {
            number: header.number,
            checksum,
            end: self.last.end + size,
            ..self.last
        };
        if self.next.is_none() && self.is_filling() {
            self.prepare_next()?;
        }
        Ok((self.last, frame_bytes))
    }

    /// Writes a frame after the last one, in the next segment if this one is full.
    fn put(&mut self, frame_bytes: &FrameBytes) -> io::Result<()> {
        let size = frame_bytes.0.len() as u64;
        if self.last.end + size > self.limit && self.last.end > SEGMENT_HEADER {
            self.roll()?;
        }
        self.reserve(size)?;
        match &self.header {
            Some(header) => {
                let mut bytes = header.encode();
                bytes.extend_from_slice(&frame_bytes.0);
                self.file.write_at(0, &bytes)
            }
            None => self.file.write_at(self.last.end, &frame_bytes.0),
        }
    }

    /// Cuts off the part of a frame that a full disk accepted. No part of it was synced, and the
    /// cut is synced, so the log is as before. After any other failure the content of the disk is
    /// unknown.
    fn taken_back(&mut self, error: io::Error) -> Unwritten {
        if !is_full(&error) {
            return Unwritten::Failed(error);
        }
        // A segment without a frame has no header either.
        let end = match &self.header {
            Some(_) => 0,
            None => self.last.end,
        };
        let cut = self.file.truncate(end).and_then(|()| self.file.sync());
        self.length = end;
        match cut {
            Ok(()) => Unwritten::NoRoom,
            Err(error) => Unwritten::Failed(error),
        }
    }

    /// True if a commit of `bytes` only overwrites preallocated space.
    pub(crate) fn has_room_for(&self, bytes: usize) -> bool {
        let end = self.last.end + (FRAME_HEADER + bytes) as u64;
        end <= self.limit.min(self.length)
    }

    /// True if the next segment will be needed soon. Preparing one costs hundreds of syncs. A
    /// journal that is opened for a few commits, or for a listing, should not pay for that and then
    /// discard it.
    fn is_filling(&self) -> bool {
        let share = self.limit / 16;
        let is_at_work = self.last.end - self.begun > share;
        self.last.end > self.limit / 2 && (is_at_work || self.last.end > self.limit - share)
    }

    /// Continues in the next segment.
    fn roll(&mut self) -> io::Result<()> {
        if self.next.is_none() {
            self.prepare_next()?;
        }
        let header = SegmentHeader::after(self.journal, self.last);
        if let Some(prepared) = self.next.take() {
            self.file = joined(prepared)?;
        }
        self.place.roll(&mut *self.file, header.segment)?;
        self.length = self.file.length()?;
        self.last = Written {
            segment: header.segment,
            end: SEGMENT_HEADER,
            ..self.last
        };
        self.begun = SEGMENT_HEADER;
        self.header = Some(header);
        Ok(())
    }

    fn prepare_next(&mut self) -> io::Result<()> {
        let (disk, name, limit) = (
            Arc::clone(&self.disk),
            segment_name(self.last.segment + 1),
            self.limit,
        );
        let prepare = move || {
            let mut file = disk.open(&name, true)?;
            file.truncate(0)?;
            let mut from = 0;
            // If the disk has too little room, each commit allocates its own space.
            let is_roomy = disk.free_space()? / 2 > limit;
            while is_roomy && from < limit {
                let to = limit.min(from + STEP);
                zero(&mut *file, from, to)?;
                file.sync()?;
                from = to;
            }
            disk.sync_names()?;
            Ok(file)
        };
        self.next = Some(
            thread::Builder::new()
                .name("journal segment".to_owned())
                .spawn(prepare)?,
        );
        Ok(())
    }

    /// Writes zeros ahead. A commit then only overwrites them, and its sync need not make new
    /// extents durable. If the disk has no room for them, it reserves just what the commit needs.
    fn reserve(&mut self, needed: u64) -> io::Result<()> {
        let required = self.last.end + needed;
        if required <= self.length {
            return Ok(());
        }
        let (least, most) = GROWTH;
        let ahead = (self.last.end - self.begun).clamp(least, most);
        let mut target = (required + ahead).min(self.limit.max(required));
        match zero(&mut *self.file, self.length, target) {
            Err(error) if is_full(&error) => {
                target = required;
                zero(&mut *self.file, self.length, target)?;
            }
            zeroed => zeroed?,
        }
        self.length = target;
        self.file.sync()
    }
}

impl Drop for LogWriter {
    /// Waits for the thread that prepares a segment, before another writer may take over.
    fn drop(&mut self) {
        // An unused segment may have failed; that does not matter any more.
        let _unused = self.next.take().map(joined);
    }
}

/// A commit that is not in the log.
#[derive(Debug)]
pub(crate) enum Unwritten {
    /// The disk is full. The log is as before.
    NoRoom,
    /// The write failed. The content of the disk is unknown.
    Failed(io::Error),
}

impl From<io::Error> for Unwritten {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<Unwritten> for io::Error {
    fn from(unwritten: Unwritten) -> Self {
        match unwritten {
            Unwritten::NoRoom => io::ErrorKind::StorageFull.into(),
            Unwritten::Failed(error) => error,
        }
    }
}

/// True if the disk is full, or the quota of this user is used up.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

fn joined(prepared: Prepared) -> io::Result<Box<dyn DiskFile>> {
    prepared
        .join()
        .unwrap_or_else(|_| Err(io::Error::other("preparing a segment panicked")))
}

fn zero(file: &mut dyn DiskFile, mut from: u64, to: u64) -> io::Result<()> {
    let zeros = vec![0; 64 << 10];
    while from < to {
        let step = usize::try_from(to - from).unwrap_or(usize::MAX);
        let piece = zeros.get(..step).unwrap_or(&zeros);
        file.write_at(from, piece)?;
        from += piece.len() as u64;
    }
    Ok(())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;
    use crate::testing::MemoryDisk;

    const JOURNAL: Uuid = Uuid::from_u128(5);
    const LIMIT: u64 = 64 << 10;
    const SECOND: &str = "0000000000000002.log";

    /// Commits until the segment has `to` bytes.
    fn fill(writer: &mut LogWriter, to: u64) {
        while writer.last.end < to {
            writer.commit([&[7; 200][..]].into_iter()).unwrap();
        }
    }

    /// A writer that continues where another one ended.
    fn resumed(disk: &MemoryDisk, last: Written) -> LogWriter {
        let file = disk.open(&segment_name(1), false).unwrap();
        LogWriter::resume(Arc::new(disk.clone()), JOURNAL, LIMIT, file, last).unwrap()
    }

    /// Waits for the writer, and returns true if it has prepared the next segment.
    fn has_prepared(disk: &MemoryDisk, writer: LogWriter) -> bool {
        drop(writer);
        disk.list().unwrap().contains(&SECOND.to_owned())
    }

    #[test]
    fn preallocation_grows_with_written_bytes() {
        let disk = Arc::new(MemoryDisk::new());
        let mut writer = LogWriter::create(disk, JOURNAL, 64 << 20).unwrap();
        let mut made = Vec::new();
        while writer.last.end < 12 << 20 {
            let before = writer.length;
            writer.commit([&[7; 4_000][..]].into_iter()).unwrap();
            if writer.length > before {
                made.push((writer.length - before) >> 10);
            }
        }
        let expected = [260, 264, 528, 1_056, 2_112, 4_100, 4_100];
        let is_near = |(made, expected): (&u64, &u64)| made.abs_diff(*expected) <= 8;
        let all = made.len() == expected.len() && made.iter().zip(&expected).all(is_near);
        assert!(all, "{made:?}");
    }

    #[test]
    fn commit_fits_when_preallocation_does_not() {
        let disk = MemoryDisk::new();
        let mut writer = LogWriter::create(Arc::new(disk.clone()), JOURNAL, 64 << 20).unwrap();
        fill(&mut writer, 1 << 20);
        disk.set_free_space(100 << 10);
        let before = writer.length;
        while writer.length == before {
            let more = writer.last.end + 1;
            fill(&mut writer, more);
        }
        assert_eq!(writer.length, writer.last.end);
        disk.set_free_space(0);
        // The part of the preallocation that succeeded is used up first.
        let mut commits = (0..10_000).map(|_| writer.commit([&[7; 200][..]].into_iter()));
        let full = commits.find_map(Result::err).unwrap();
        assert!(matches!(full, Unwritten::NoRoom));
    }

    #[test]
    fn segment_grows_to_limit_and_little_after_reopening() {
        let disk = MemoryDisk::new();
        let mut writer = LogWriter::create(Arc::new(disk.clone()), JOURNAL, 3 << 20).unwrap();
        fill(&mut writer, 2_500 << 10);
        assert_eq!(writer.length, 3 << 20);
        let last = writer.last;
        writer.close().unwrap();
        let file = disk.open(&segment_name(1), false).unwrap();
        let mut writer = LogWriter::resume(Arc::new(disk), JOURNAL, 64 << 20, file, last).unwrap();
        fill(&mut writer, last.end + 1);
        assert_eq!(writer.length, writer.last.end + GROWTH.0);
    }

    #[test]
    fn next_segment_is_prepared_while_this_one_fills() {
        let left_at = |end| {
            let disk = MemoryDisk::new();
            let mut writer = LogWriter::create(Arc::new(disk.clone()), JOURNAL, LIMIT).unwrap();
            fill(&mut writer, end);
            let last = writer.last;
            writer.close().unwrap();
            (disk, last)
        };
        let disk = MemoryDisk::new();
        let mut writer = LogWriter::create(Arc::new(disk.clone()), JOURNAL, LIMIT).unwrap();
        fill(&mut writer, LIMIT / 2 + 1);
        assert!(has_prepared(&disk, writer));

        // A few commits after the middle of a segment do not announce many.
        let (disk, last) = left_at(LIMIT * 3 / 4);
        let mut writer = resumed(&disk, last);
        fill(&mut writer, last.end + 1_000);
        assert!(!has_prepared(&disk, writer));
        let mut writer = resumed(&disk, last);
        fill(&mut writer, last.end + LIMIT / 16 + 1);
        assert!(has_prepared(&disk, writer));

        // A writer near the end would have to wait for the next segment.
        let (disk, last) = left_at(LIMIT * 15 / 16);
        let mut writer = resumed(&disk, last);
        fill(&mut writer, last.end + 1);
        assert!(has_prepared(&disk, writer));
    }
}
