//! A reader of one segment. It distinguishes the preallocated end, a torn write and damage as far
//! as the bytes allow.

use std::io;

use super::frame::{FRAME_HEADER, FRAME_MAGIC, FrameBytes, Header, SEGMENT_HEADER, SegmentHeader};
use crate::files::disk::DiskFile;

/// The number of bytes that are read from the file at once.
const WINDOW: usize = 1 << 20;

/// The number of bytes that are searched at once for the rare byte of a frame's magic.
const STEP: usize = 4 << 10;

/// A reader of the frames of a segment, in order.
pub(crate) struct LogReader {
    file: Box<dyn DiskFile>,
    length: u64,
    offset: u64,
    window: Vec<u8>,
    window_at: u64,
}

/// The content at the reader's position.
pub(crate) enum Step {
    /// A sound frame, its checksum, and its end.
    Frame {
        header: Header,
        checksum: u32,
        end: u64,
        frame_bytes: FrameBytes,
    },
    /// Zeros to the end of the file.
    End,
    /// Other bytes.
    Bad(Bad),
}

/// Bytes that are not a sound frame.
pub(crate) struct Bad {
    /// The offset of the first byte.
    pub(crate) at: u64,
    /// The header, if it is sound.
    pub(crate) header: Option<(Header, u32)>,
    /// The header and the payload; without a sound header, all bytes up to the next one or to the
    /// end.
    pub(crate) frame_bytes: FrameBytes,
    /// The offset of the next sound header. After a torn write there is none, because the next
    /// commit waits for the sync.
    pub(crate) next: Option<u64>,
}

impl LogReader {
    /// Creates a reader that starts after the segment header.
    pub(crate) fn new(mut file: Box<dyn DiskFile>) -> io::Result<Self> {
        let length = file.length()?;
        Ok(Self {
            file,
            length,
            offset: SEGMENT_HEADER,
            window: Vec::new(),
            window_at: 0,
        })
    }

    /// Reads the segment header. `None` if its checksum fails.
    pub(crate) fn header(&mut self) -> io::Result<Option<SegmentHeader>> {
        Ok(SegmentHeader::decode(
            self.bytes(0, SEGMENT_HEADER as usize)?,
        ))
    }

    /// Returns the file.
    pub(crate) fn into_file(self) -> Box<dyn DiskFile> {
        self.file
    }

    /// Returns true if the segment has a sound frame header anywhere.
    pub(crate) fn has_frames(&mut self) -> io::Result<bool> {
        Ok(self.find_header(0)?.is_some())
    }

    /// The offset of the next step.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Sets the offset of the next step.
    pub(crate) fn seek(&mut self, offset: u64) {
        self.offset = offset;
    }

    /// Reads the frame at the current offset, and moves behind it if it is sound.
    pub(crate) fn step(&mut self) -> io::Result<Step> {
        let at = self.offset;
        let header = Header::decode(self.bytes(at, FRAME_HEADER)?);
        let body = at + FRAME_HEADER as u64;
        if let Some((header, checksum)) = header {
            let length = FRAME_HEADER + header.length as usize;
            let frame_bytes = FrameBytes(self.bytes(at, length)?.to_vec());
            if frame_bytes.0.len() == length
                && crc32fast::hash(frame_bytes.payload()) == header.payload
            {
                let end = body + u64::from(header.length);
                self.offset = end;
                return Ok(Step::Frame {
                    header,
                    checksum,
                    end,
                    frame_bytes,
                });
            }
            let next = self.find_header((body + u64::from(header.length)).min(self.length))?;
            return Ok(Step::Bad(Bad {
                at,
                header: Some((header, checksum)),
                frame_bytes,
                next,
            }));
        }
        if self.zeros_from(at)? {
            return Ok(Step::End);
        }
        let next = self.find_header(at + 1)?;
        let length = next.unwrap_or(self.length).saturating_sub(at);
        let frame_bytes = match usize::try_from(length) {
            Ok(length) => FrameBytes(self.bytes(at, length)?.to_vec()),
            Err(_) => FrameBytes(Vec::new()),
        };
        Ok(Step::Bad(Bad {
            at,
            header: None,
            frame_bytes,
            next,
        }))
    }

    /// Returns up to `count` bytes from an offset, fewer at the end of the file.
    fn bytes(&mut self, offset: u64, count: usize) -> io::Result<&[u8]> {
        let available = usize::try_from(self.length.saturating_sub(offset)).unwrap_or(usize::MAX);
        let count = count.min(available);
        if count == 0 {
            return Ok(&[]);
        }
        let covered = offset >= self.window_at
            && offset + count as u64 <= self.window_at + self.window.len() as u64;
        if !covered {
            self.window.clear();
            self.window.resize(count.max(WINDOW).min(available), 0);
            self.window_at = offset;
            self.file.read_at(offset, &mut self.window)?;
        }
        let start = usize::try_from(offset - self.window_at).unwrap_or(usize::MAX);
        Ok(self
            .window
            .get(start..)
            .and_then(|rest| rest.get(..count))
            .unwrap_or_default())
    }

    fn zeros_from(&mut self, mut offset: u64) -> io::Result<bool> {
        while offset < self.length {
            let bytes = self.bytes(offset, WINDOW)?;
            // The fold without an early exit checks many bytes at a time.
            let zeros = |step: &[u8]| step.iter().fold(0, |any, byte| any | byte) == 0;
            if !bytes.chunks(STEP).all(zeros) {
                return Ok(false);
            }
            offset += bytes.len() as u64;
        }
        Ok(true)
    }

    fn find_header(&mut self, mut offset: u64) -> io::Result<Option<u64>> {
        while offset + FRAME_HEADER as u64 <= self.length {
            let bytes = self.bytes(offset, WINDOW)?;
            let length = bytes.len();
            let mut at = 0;
            while let Some(rest) = bytes.get(at..).filter(|rest| rest.len() >= FRAME_HEADER) {
                let step = rest.get(..STEP).unwrap_or(rest);
                // The last byte of the magic occurs neither in text nor in zeros, so most steps are
                // skipped at once.
                if step.contains(&FRAME_MAGIC[3]) {
                    let windows = rest.windows(FRAME_HEADER).take(STEP).enumerate();
                    for (index, window) in windows {
                        if window.starts_with(&FRAME_MAGIC) && Header::decode(window).is_some() {
                            return Ok(Some(offset + (at + index) as u64));
                        }
                    }
                }
                // The next step overlaps this one, so that it finds a magic across their border.
                at += step.len() - (FRAME_MAGIC.len() - 1);
            }
            offset += (length - (FRAME_HEADER - 1)) as u64;
        }
        Ok(None)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::disk::{Disk, RealDisk};

    /// A segment of `length` zeros with some bytes put in.
    fn segment(length: usize, put: &[(usize, &[u8])]) -> LogReader {
        let directory = tempfile::tempdir().unwrap();
        let mut file = RealDisk::new(directory.path()).open("a", true).unwrap();
        let mut bytes = vec![0; length];
        for (at, put) in put {
            bytes
                .get_mut(*at..at + put.len())
                .unwrap()
                .copy_from_slice(put);
        }
        file.write_at(0, &bytes).unwrap();
        LogReader::new(file).unwrap()
    }

    #[test]
    fn header_is_found_at_any_offset() {
        let header = Header {
            length: 8,
            number: 1,
            appends: 1,
            chain: 0,
            payload: 0,
        };
        let (header, _) = header.encode();
        let around = |at: usize| at - 40..at + 40;
        let places = around(STEP - 3)
            .chain(around(2 * STEP))
            .chain(around(WINDOW));
        let length = WINDOW + 2 * STEP;
        for at in places.chain([0, length - FRAME_HEADER]) {
            let mut found = segment(length, &[(at, &header)]);
            assert_eq!(found.find_header(0).unwrap(), Some(at as u64));
            assert!(!found.zeros_from(0).unwrap());
        }
    }

    #[test]
    fn magic_without_header_is_skipped() {
        let length = WINDOW + 2 * STEP;
        let magic = &FRAME_MAGIC[..];
        let mut found = segment(
            length,
            &[(5, magic), (STEP, &[0xff; 9]), (length - 4, magic)],
        );
        assert!(!found.has_frames().unwrap());
        assert!(segment(length, &[]).zeros_from(0).unwrap());
        assert!(
            !segment(length, &[(length - 1, &[1])])
                .zeros_from(0)
                .unwrap()
        );
    }
}
