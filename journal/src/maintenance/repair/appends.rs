//! The search for appends in partly damaged bytes.

use crate::log::{APPEND_HEADER, FRAME_HEADER, FRAME_MAGIC, LoggedAppend};

/// An append that can be decoded.
pub(super) struct Readable<'b> {
    /// The append with its length and checksum.
    pub(super) bytes: &'b [u8],
    pub(super) decoded: LoggedAppend<'b>,
    /// True if its checksum holds.
    pub(super) is_intact: bool,
}

/// Returns the appends that can be decoded, and true if the bytes contain nothing else.
///
/// After an undecodable append, the next one may start at any byte.
pub(super) fn readable(bytes: &[u8]) -> (Vec<Readable<'_>>, bool) {
    let end = bytes
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |at| at + 1);
    let (mut found, mut is_all, mut at) = (Vec::new(), true, 0);
    while at < end {
        let rest = bytes.get(at..).unwrap_or_default();
        if let Some(append) = first(rest) {
            at += append.bytes.len();
            found.push(append);
        } else if rest.starts_with(&FRAME_MAGIC) {
            at += FRAME_HEADER;
        } else {
            is_all = false;
            at += 1;
        }
    }
    (found, is_all)
}

fn first(bytes: &[u8]) -> Option<Readable<'_>> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (checksum, rest) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let body = rest.get(..length)?;
    let decoded = LoggedAppend::decode(body)?;
    (!decoded.lines.is_empty()).then_some(Readable {
        bytes: bytes.get(..APPEND_HEADER + length)?,
        decoded,
        is_intact: crc32fast::hash(body).to_be_bytes() == *checksum,
    })
}
