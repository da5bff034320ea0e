//! The bytes of a segment's and of a frame's header.

use uuid::Uuid;

use crate::cursor::Cursor;

/// The length of a segment's header.
pub(crate) const SEGMENT_HEADER: u64 = 64;
/// The length of a frame's header.
pub(crate) const FRAME_HEADER: usize = 32;

const SEGMENT_MAGIC: [u8; 8] = *b"RCLOG\0\xff\x01";
/// Not UTF-8, so that no record can hold it.
pub(super) const FRAME_MAGIC: [u8; 4] = *b"\0RC\xff";

/// The file name of a segment.
pub(crate) fn segment_name(segment: u64) -> String {
    format!("{segment:016}.log")
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
}

impl SegmentHeader {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64);
        out.extend_from_slice(&SEGMENT_MAGIC);
        out.extend_from_slice(self.journal.as_bytes());
        out.extend_from_slice(&self.segment.to_be_bytes());
        out.extend_from_slice(&self.first.to_be_bytes());
        out.extend_from_slice(&self.chain.to_be_bytes());
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
        })
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
    /// The bytes and, as their last four, the checksum that stands for the whole frame and all before it.
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
