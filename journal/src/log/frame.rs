//! The bytes of a segment's and of a frame's header.

use uuid::Uuid;

use super::cursor::Cursor;
use super::entry::{ENTRY_HEADER, split};

/// The length of a segment's header.
pub(crate) const SEGMENT_HEADER: u64 = 64;
/// The length of a frame's header.
pub(crate) const FRAME_HEADER: usize = 32;

const SEGMENT_MAGIC: [u8; 8] = *b"RCLOG\0\xff\x01";
/// Not UTF-8, so that no record can hold it.
pub(crate) const FRAME_MAGIC: [u8; 4] = *b"\0RC\xff";

/// The file name of a segment.
pub(crate) fn segment_name(segment: u64) -> String {
    format!("{segment:016}.log")
}

/// Up to where the log is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Written {
    /// The number of the last frame.
    pub(crate) number: u64,
    /// Its checksum, which stands for all before it as well.
    pub(crate) checksum: u32,
    /// The segment it is in.
    pub(crate) segment: u64,
    /// Where in that it ends.
    pub(crate) end: u64,
}

/// Where a frame stands in the log.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct FramePlace {
    pub(crate) number: u64,
    pub(crate) segment: u32,
    /// Its first byte in that.
    pub(crate) at: u32,
}

impl Written {
    /// Before the first frame of a log.
    pub(crate) const NOTHING: Self = Self {
        number: 0,
        checksum: 0,
        segment: 0,
        end: 0,
    };

    /// Where the last frame stands. No segment is longer than four bytes can say; were one, its
    /// frames would be read from the index.
    pub(crate) fn frame(&self, block: &Block) -> FramePlace {
        let at = self.end.saturating_sub(block.0.len() as u64);
        FramePlace {
            number: self.number,
            segment: u32::try_from(self.segment).unwrap_or(u32::MAX),
            at: u32::try_from(at).unwrap_or(u32::MAX),
        }
    }
}

/// What a segment says of itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct SegmentHeader {
    /// The journal it belongs to.
    pub(crate) journal: Uuid,
    /// Its number, from 1.
    pub(crate) segment: u64,
    /// The number of its first frame.
    pub(crate) first: u64,
    /// The checksum of the frame before that.
    pub(crate) chain: u32,
    /// Where the segment before ends.
    pub(crate) before: u64,
}

impl SegmentHeader {
    /// The header of the segment that follows a frame, of the first one after none.
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

/// The bytes of a frame, its header in front.
#[derive(Debug)]
pub(crate) struct Block(pub(crate) Vec<u8>);

impl Block {
    /// What follows the header.
    pub(crate) fn payload(&self) -> &[u8] {
        self.0.get(FRAME_HEADER..).unwrap_or_default()
    }

    /// What the frame says of itself and the checksum that stands for it; nothing unless both
    /// checksums hold.
    pub(crate) fn header(&self) -> Option<(Header, u32)> {
        let (header, checksum) = Header::decode(self.0.get(..FRAME_HEADER)?)?;
        let is_whole = self.payload().len() as u64 == u64::from(header.length)
            && crc32fast::hash(self.payload()) == header.payload;
        is_whole.then_some((header, checksum))
    }

    /// The bodies of the appends, each with its place in the block and with whether its checksum
    /// holds. Ends early where the lengths do not.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (Place, &[u8], bool)> {
        let mut offset = FRAME_HEADER;
        split(self.payload()).map(move |(body, intact)| {
            let place = Place::of(offset + ENTRY_HEADER, body.len());
            offset += ENTRY_HEADER + body.len();
            (place, body, intact)
        })
    }
}

/// Where something stands in a block.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Place {
    pub(crate) offset: u32,
    pub(crate) length: u32,
}

impl Place {
    /// A frame is never longer than four bytes can say: the writer refuses it.
    pub(crate) fn of(offset: usize, length: usize) -> Self {
        let bounded = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Self {
            offset: bounded(offset),
            length: bounded(length),
        }
    }
}

/// What a frame says of itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Header {
    /// The length of what follows.
    pub(crate) length: u32,
    /// The running number over all segments, from 1.
    pub(crate) number: u64,
    /// How many appends the commit holds.
    pub(crate) entries: u32,
    /// The checksum of the frame before, so that a frame taken from elsewhere does not fit.
    pub(crate) chain: u32,
    /// The checksum of what follows.
    pub(crate) payload: u32,
}

impl Header {
    /// The bytes and, as their last four, the checksum that stands for the whole frame and all
    /// before it.
    pub(crate) fn encode(&self) -> (Vec<u8>, u32) {
        let mut out = Vec::with_capacity(FRAME_HEADER);
        out.extend_from_slice(&FRAME_MAGIC);
        out.extend_from_slice(&self.length.to_be_bytes());
        out.extend_from_slice(&self.number.to_be_bytes());
        out.extend_from_slice(&self.entries.to_be_bytes());
        out.extend_from_slice(&self.chain.to_be_bytes());
        out.extend_from_slice(&self.payload.to_be_bytes());
        let checksum = crc32fast::hash(&out);
        out.extend_from_slice(&checksum.to_be_bytes());
        (out, checksum)
    }

    /// The header and its checksum.
    pub(crate) fn decode(bytes: &[u8]) -> Option<(Self, u32)> {
        let (covered, checksum) = bytes.split_at_checked(FRAME_HEADER - 4)?;
        let mut cursor = Cursor(covered);
        (cursor.array()? == FRAME_MAGIC).then_some(())?;
        let checksum = Cursor(checksum).u32()?;
        (checksum == crc32fast::hash(covered)).then_some(())?;
        let (length, number, entries) = (cursor.u32()?, cursor.u64()?, cursor.u32()?);
        Some((
            Self {
                length,
                number,
                entries,
                chain: cursor.u32()?,
                payload: cursor.u32()?,
            },
            checksum,
        ))
    }
}
