//! The bytes of the headers of a segment and of a frame.

use uuid::Uuid;

use super::cursor::Cursor;
use super::logged_append::{APPEND_HEADER, bodies, split};

/// The length of a segment header.
pub(crate) const SEGMENT_HEADER: u64 = 64;
/// The length of a frame header.
pub(crate) const FRAME_HEADER: usize = 32;

const SEGMENT_MAGIC: [u8; 8] = *b"RCLOG\0\xff\x01";
/// The magic bytes of a frame. They are not UTF-8, so no record can contain them.
pub(crate) const FRAME_MAGIC: [u8; 4] = *b"\0RC\xff";

/// The file name of a segment.
pub(crate) fn segment_name(segment: u64) -> String {
    format!("{segment:016}.log")
}

/// The end of the written log.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Written {
    /// The number of the last frame.
    /// The number of the last frame.
    pub(crate) number: u64,
    /// The checksum of the last frame, which covers all frames before it as well.
    pub(crate) checksum: u32,
    /// The segment of the last frame.
    pub(crate) segment: u64,
    /// The end of the last frame in that segment.
    pub(crate) end: u64,
}

/// The place of a frame in the log.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct FramePlace {
    pub(crate) number: u64,
    pub(crate) segment: u32,
    /// The offset of its first byte in the segment.
    pub(crate) at: u32,
}

impl Written {
    /// The position before the first frame of a log.
    pub(crate) const NOTHING: Self = Self {
        number: 0,
        checksum: 0,
        segment: 0,
        end: 0,
    };

    /// The place of the last frame. A segment offset fits into four bytes; if it did not, the frame
    /// would be read from the index.
    pub(crate) fn frame(&self, frame_bytes: &FrameBytes) -> FramePlace {
        let at = self.end.saturating_sub(frame_bytes.0.len() as u64);
        FramePlace {
            number: self.number,
            segment: u32::try_from(self.segment).unwrap_or(u32::MAX),
            at: u32::try_from(at).unwrap_or(u32::MAX),
        }
    }
}

/// The content of a segment header.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct SegmentHeader {
    /// The id of its journal.
    pub(crate) journal: Uuid,
    /// The number of the segment, from 1.
    pub(crate) segment: u64,
    /// The number of its first frame.
    pub(crate) first: u64,
    /// The checksum of the last frame before the segment.
    pub(crate) chain: u32,
    /// The end of the previous segment.
    pub(crate) before: u64,
}

impl SegmentHeader {
    /// The header of the segment after a frame, or of the first segment of an empty log.
    pub(crate) fn after(journal: Uuid, last: Written) -> Self {
        Self {
            journal,
            segment: last.segment + 1,
            first: last.number + 1,
            chain: last.checksum,
            before: last.end,
        }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64);
        out.extend_from_slice(&SEGMENT_MAGIC);
        out.extend_from_slice(self.journal.as_bytes());
        out.extend_from_slice(&self.segment.to_be_bytes());
        out.extend_from_slice(&self.first.to_be_bytes());
        out.extend_from_slice(&self.chain.to_be_bytes());
        out.extend_from_slice(&self.before.to_be_bytes());
        out.resize(60, 0);
        out.extend_from_slice(&crc32fast::hash(&out).to_be_bytes());
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (covered, checksum) = bytes.split_at_checked(60)?;
        let mut cursor = Cursor(covered);
        let sound =
            cursor.array()? == SEGMENT_MAGIC && checksum == crc32fast::hash(covered).to_be_bytes();
        sound.then_some(())?;
        let (journal, segment, first) = (cursor.uuid()?, cursor.u64()?, cursor.u64()?);
        Some(Self {
            journal,
            segment,
            first,
            chain: cursor.u32()?,
            before: cursor.u64()?,
        })
    }
}

/// The bytes of a frame, including its header.
#[derive(Debug)]
pub(crate) struct FrameBytes(pub(crate) Vec<u8>);

impl FrameBytes {
    /// The bytes after the header.
    pub(crate) fn payload(&self) -> &[u8] {
        self.0.get(FRAME_HEADER..).unwrap_or_default()
    }

    /// Decodes the header and its checksum. `None` unless both checksums hold.
    pub(crate) fn header(&self) -> Option<(Header, u32)> {
        let (header, checksum) = Header::decode(self.0.get(..FRAME_HEADER)?)?;
        let is_whole = self.payload().len() as u64 == u64::from(header.length)
            && crc32fast::hash(self.payload()) == header.payload;
        is_whole.then_some((header, checksum))
    }

    /// Iterates over the bodies of the appends, each with its place in the frame, and true if its
    /// checksum holds. The iterator ends early if the lengths are wrong.
    pub(crate) fn appends(&self) -> impl Iterator<Item = (Place, &[u8], bool)> {
        placed(split(self.payload())).map(|(place, (body, intact))| (place, body, intact))
    }

    /// Iterates over the appends of a frame that this process wrote, without their checksums.
    pub(crate) fn written_appends(&self) -> impl Iterator<Item = (Place, &[u8])> {
        let bodies = bodies(self.payload()).map(|(body, _)| (body, ()));
        placed(bodies).map(|(place, (body, ()))| (place, body))
    }
}

impl AsRef<[u8]> for FrameBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Adds the place in the frame to the body of each append.
fn placed<'a, T>(
    bodies: impl Iterator<Item = (&'a [u8], T)>,
) -> impl Iterator<Item = (Place, (&'a [u8], T))> {
    let mut offset = FRAME_HEADER;
    bodies.map(move |it| {
        let place = Place::of(offset + APPEND_HEADER, it.0.len());
        offset += APPEND_HEADER + it.0.len();
        (place, it)
    })
}

/// The place of some bytes in a frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Place {
    pub(crate) offset: u32,
    pub(crate) length: u32,
}

impl Place {
    /// Creates a place. The writer keeps every frame shorter than 4 GiB.
    pub(crate) fn of(offset: usize, length: usize) -> Self {
        let bounded = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Self {
            offset: bounded(offset),
            length: bounded(length),
        }
    }
}

/// The content of a frame header.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Header {
    /// The length of the payload.
    pub(crate) length: u32,
    /// The number of the frame over all segments, from 1.
    pub(crate) number: u64,
    /// The number of appends in the commit.
    pub(crate) appends: u32,
    /// The checksum of the previous frame, so that a frame from elsewhere does not fit.
    pub(crate) chain: u32,
    /// The checksum of the payload.
    pub(crate) payload: u32,
}

impl Header {
    /// Encodes the header. The last four bytes are its checksum, which covers the frame and all
    /// frames before it.
    pub(crate) fn encode(&self) -> (Vec<u8>, u32) {
        let mut out = Vec::with_capacity(FRAME_HEADER);
        out.extend_from_slice(&FRAME_MAGIC);
        out.extend_from_slice(&self.length.to_be_bytes());
        out.extend_from_slice(&self.number.to_be_bytes());
        out.extend_from_slice(&self.appends.to_be_bytes());
        out.extend_from_slice(&self.chain.to_be_bytes());
        out.extend_from_slice(&self.payload.to_be_bytes());
        let checksum = crc32fast::hash(&out);
        out.extend_from_slice(&checksum.to_be_bytes());
        (out, checksum)
    }

    /// Decodes the header and its checksum.
    pub(crate) fn decode(bytes: &[u8]) -> Option<(Self, u32)> {
        let (covered, checksum) = bytes.split_at_checked(FRAME_HEADER - 4)?;
        let mut cursor = Cursor(covered);
        (cursor.array()? == FRAME_MAGIC).then_some(())?;
        let checksum = Cursor(checksum).u32()?;
        (checksum == crc32fast::hash(covered)).then_some(())?;
        let (length, number, appends) = (cursor.u32()?, cursor.u64()?, cursor.u32()?);
        Some((
            Self {
                length,
                number,
                appends,
                chain: cursor.u32()?,
                payload: cursor.u32()?,
            },
            checksum,
        ))
    }
}
