//! The keys and values of the index: one tree, a letter as prefix, big-endian numbers, and a
//! checksum for every value.

use uuid::Uuid;

use super::places::{ObjectPlace, Position, Stream};
use crate::log::cursor::Cursor;
use crate::log::{FramePlace, Place, Written, put_item, take_item};
use crate::{Hash, Head, OpenItem};

pub(super) const FRAMES: u8 = b'b';
pub(super) const GROUPS: u8 = b'p';
pub(super) const HEADS: u8 = b'h';
pub(super) const ITEMS: u8 = b'w';
pub(super) const REQUESTS: u8 = b'r';
pub(super) const OBJECTS: u8 = b'o';
pub(super) const MARK: [u8; 2] = *b"m2";
/// The key of the mark before frames were compressed. An older program finds no mark in a new index
/// and writes its own. Until the first new mark is written, this program continues with such an
/// index and overwrites its frames.
pub(super) const MARK_OF_WHOLE_FRAMES: [u8; 1] = *b"m";

/// A row to insert, or to remove if it has no value.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(super) key: Vec<u8>,
    pub(super) value: Option<Vec<u8>>,
}

impl Row {
    fn put(key: Vec<u8>, payload: &[u8]) -> Self {
        let value = Some(sealed(&key, payload));
        Self { key, value }
    }

    /// `h ‖ session` → seq, hash, time, the positions that are in no group.
    pub(crate) fn head(session: Uuid, head: &Head, recent: &[Position]) -> Self {
        let mut payload = Vec::with_capacity(48 + recent.len() * POSITION);
        payload.extend_from_slice(&head.seq.to_be_bytes());
        payload.extend_from_slice(head.hash.as_bytes());
        payload.extend_from_slice(&head.at_us.to_be_bytes());
        put_positions(&mut payload, recent);
        Self::put(head_key(session), &payload)
    }

    /// `p ‖ session ‖ first seq` → positions.
    pub(crate) fn group(session: Uuid, positions: &[Position]) -> Self {
        let first = positions.first().map_or(0, |position| position.first);
        let mut payload = Vec::with_capacity(positions.len() * POSITION);
        put_positions(&mut payload, positions);
        Self::put(group_key(session, first), &payload)
    }

    /// `w ‖ session ‖ item` → the item; `None` removes the row.
    pub(crate) fn item((session, seq): (Uuid, u64), item: Option<&OpenItem>) -> Self {
        let mut key = vec![ITEMS];
        key.extend_from_slice(session.as_bytes());
        key.extend_from_slice(&seq.to_be_bytes());
        let Some(item) = item else {
            return Self { key, value: None };
        };
        let mut payload = Vec::new();
        put_item(&mut payload, item);
        Self::put(key, &payload)
    }

    /// `r ‖ request` → session, item.
    pub(crate) fn request(request: Uuid, (session, item): (Uuid, u64)) -> Self {
        let mut payload = Vec::with_capacity(24);
        payload.extend_from_slice(session.as_bytes());
        payload.extend_from_slice(&item.to_be_bytes());
        Self::put(request_key(request), &payload)
    }

    /// `o ‖ hash` → frame, its segment and first byte, offset, length.
    pub(crate) fn object(hash: &Hash, object: ObjectPlace) -> Self {
        let mut payload = Vec::with_capacity(24);
        put_frame(&mut payload, object.frame);
        put_place(&mut payload, object.place);
        Self::put(object_key(hash), &payload)
    }

    /// `m2` → journal, the last frame's number, checksum, segment and end, records.
    pub(super) fn mark(journal: Uuid, mark: Written, records: u64) -> Self {
        let mut payload = Vec::with_capacity(52);
        payload.extend_from_slice(journal.as_bytes());
        payload.extend_from_slice(&mark.number.to_be_bytes());
        payload.extend_from_slice(&mark.checksum.to_be_bytes());
        payload.extend_from_slice(&mark.segment.to_be_bytes());
        payload.extend_from_slice(&mark.end.to_be_bytes());
        payload.extend_from_slice(&records.to_be_bytes());
        Self::put(MARK.to_vec(), &payload)
    }
}

/// The value of a row: `crc32(key ‖ payload) ‖ payload`.
pub(super) fn sealed(key: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut value = Vec::with_capacity(payload.len() + 4);
    value.extend_from_slice(&checksum(key, payload).to_be_bytes());
    value.extend_from_slice(payload);
    value
}

fn checksum(key: &[u8], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(key);
    hasher.update(payload);
    hasher.finalize()
}

/// The payload of a value, if its checksum holds.
pub(super) fn unsealed<'v>(key: &[u8], value: &'v [u8]) -> Option<&'v [u8]> {
    let mut cursor = Cursor(value);
    let stored = cursor.u32()?;
    (stored == checksum(key, cursor.0)).then_some(cursor.0)
}

/// `b ‖ frame ‖ part`.
pub(super) fn frame_key(frame: u64, part: u32) -> [u8; 13] {
    let mut key = [FRAMES; 13];
    let (_, rest) = key.split_at_mut(1);
    let (number, last) = rest.split_at_mut(8);
    number.copy_from_slice(&frame.to_be_bytes());
    last.copy_from_slice(&part.to_be_bytes());
    key
}

/// The frame number and the part of a key.
pub(super) fn read_frame_key(key: &[u8]) -> Option<(u64, u32)> {
    let mut cursor = Cursor(key);
    (cursor.u8()? == FRAMES).then_some(())?;
    let name = (cursor.u64()?, cursor.u32()?);
    cursor.is_empty().then_some(name)
}

pub(super) fn head_key(session: Uuid) -> Vec<u8> {
    named(HEADS, session.as_bytes())
}

pub(super) fn request_key(request: Uuid) -> Vec<u8> {
    named(REQUESTS, request.as_bytes())
}

pub(super) fn object_key(hash: &Hash) -> Vec<u8> {
    named(OBJECTS, hash.as_bytes())
}

pub(super) fn read_object_key(key: &[u8]) -> Option<Hash> {
    let mut cursor = Cursor(key);
    cursor.u8()?;
    cursor.hash()
}

pub(super) fn group_key(session: Uuid, first: u64) -> Vec<u8> {
    let mut key = named(GROUPS, session.as_bytes());
    key.extend_from_slice(&first.to_be_bytes());
    key
}

fn named(letter: u8, name: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(41);
    key.push(letter);
    key.extend_from_slice(name);
    key
}

/// Reads what [`Row::head`] writes.
pub(super) fn read_head(key: &[u8], value: &[u8]) -> Option<(Uuid, Stream)> {
    let mut name = Cursor(key);
    name.u8()?;
    let mut cursor = Cursor(unsealed(key, value)?);
    let head = Head {
        seq: cursor.u64()?,
        hash: cursor.hash()?,
        at_us: cursor.i64()?,
    };
    Some((name.uuid()?, Stream::kept(head, take_positions(cursor)?)))
}

/// Reads what [`Row::group`] writes.
pub(super) fn read_group(key: &[u8], value: &[u8]) -> Option<Vec<Position>> {
    take_positions(Cursor(unsealed(key, value)?))
}

/// Reads what [`Row::item`] writes.
pub(super) fn read_item(key: &[u8], value: &[u8]) -> Option<OpenItem> {
    take_item(&mut Cursor(unsealed(key, value)?))
}

/// Reads what [`Row::request`] writes.
pub(super) fn read_request(key: &[u8], value: &[u8]) -> Option<(Uuid, u64)> {
    let mut cursor = Cursor(unsealed(key, value)?);
    Some((cursor.uuid()?, cursor.u64()?))
}

/// Reads what [`Row::object`] writes.
pub(super) fn read_object(key: &[u8], value: &[u8]) -> Option<ObjectPlace> {
    let mut cursor = Cursor(unsealed(key, value)?);
    Some(ObjectPlace {
        frame: take_frame(&mut cursor)?,
        place: take_place(&mut cursor)?,
    })
}

/// Reads what [`Row::mark`] writes: the journal, the mark, the number of records.
pub(super) fn read_mark(key: &[u8], value: &[u8]) -> Option<(Uuid, Written, u64)> {
    let mut cursor = Cursor(unsealed(key, value)?);
    let journal = cursor.uuid()?;
    let (number, checksum) = (cursor.u64()?, cursor.u32()?);
    let (segment, end) = (cursor.u64()?, cursor.u64()?);
    let mark = Written {
        number,
        checksum,
        segment,
        end,
    };
    Some((journal, mark, cursor.u64()?))
}

/// The length of one position, in bytes.
const POSITION: usize = 32;

fn put_positions(out: &mut Vec<u8>, positions: &[Position]) {
    for position in positions {
        out.extend_from_slice(&position.first.to_be_bytes());
        put_frame(out, position.frame);
        put_place(out, position.place);
    }
}

fn take_positions(mut cursor: Cursor<'_>) -> Option<Vec<Position>> {
    let mut positions = Vec::with_capacity(cursor.0.len() / POSITION);
    while !cursor.is_empty() {
        positions.push(Position {
            first: cursor.u64()?,
            frame: take_frame(&mut cursor)?,
            place: take_place(&mut cursor)?,
        });
    }
    Some(positions)
}

fn put_frame(out: &mut Vec<u8>, frame: FramePlace) {
    out.extend_from_slice(&frame.number.to_be_bytes());
    out.extend_from_slice(&frame.segment.to_be_bytes());
    out.extend_from_slice(&frame.at.to_be_bytes());
}

fn take_frame(cursor: &mut Cursor<'_>) -> Option<FramePlace> {
    Some(FramePlace {
        number: cursor.u64()?,
        segment: cursor.u32()?,
        at: cursor.u32()?,
    })
}

fn put_place(out: &mut Vec<u8>, place: Place) {
    out.extend_from_slice(&place.offset.to_be_bytes());
    out.extend_from_slice(&place.length.to_be_bytes());
}

fn take_place(cursor: &mut Cursor<'_>) -> Option<Place> {
    Some(Place {
        offset: cursor.u32()?,
        length: cursor.u32()?,
    })
}
