//! The keys and values of the index: one tree, one letter in front, numbers big-endian, every value under a checksum.

use uuid::Uuid;

use crate::cursor::Cursor;
use crate::log::{Entry, Written};
use crate::open_work::WorkRow;
use crate::{Hash, Head};

pub(super) const EVENTS: u8 = b'e';
pub(super) const OBJECTS: u8 = b'o';
pub(super) const HEADS: u8 = b'h';
pub(super) const MARK: [u8; 1] = *b"m";
const ITEMS: u8 = b'w';
const DEADLINES: u8 = b'd';
const REQUESTS: u8 = b'r';

/// The most bytes of events in one value: a page of sled over 128 KiB would go to a file that is never synced.
const EVENTS_PIECE: usize = 8 << 10;
/// The most bytes of an object in one value.
const OBJECT_PIECE: usize = 4 << 10;

/// `crc32(key ‖ payload) ‖ payload`.
fn sealed(key: &[u8], payload: &[u8]) -> Vec<u8> {
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

/// The payload of a value and its checksum, if that holds.
pub(super) fn unsealed<'v>(key: &[u8], value: &'v [u8]) -> Option<(&'v [u8], u32)> {
    let mut cursor = Cursor(value);
    let stored = cursor.u32()?;
    (stored == checksum(key, cursor.0)).then_some((cursor.0, stored))
}

/// `e ‖ session ‖ first seq ‖ part`.
pub(super) fn event_key(session: Uuid, first: u64, part: u32) -> Vec<u8> {
    let mut key = Vec::with_capacity(29);
    key.push(EVENTS);
    key.extend_from_slice(session.as_bytes());
    key.extend_from_slice(&first.to_be_bytes());
    key.extend_from_slice(&part.to_be_bytes());
    key
}

/// The session, first seq and part of an event key.
pub(super) fn read_event_key(key: &[u8]) -> Option<(Uuid, u64, u32)> {
    let mut cursor = Cursor(key);
    (cursor.u8()? == EVENTS).then_some(())?;
    Some((cursor.uuid()?, cursor.u64()?, cursor.u32()?))
}

/// The rows of an append's lines; the first begins with the count of parts and of lines.
pub(crate) fn events(entry: &Entry<'_>, mut put: impl FnMut(Vec<u8>, Vec<u8>)) {
    let count = u32::try_from(entry.lines.len()).unwrap_or(u32::MAX);
    pieces(entry.lines_section, EVENTS_PIECE, count, |part, payload| {
        let key = event_key(entry.session, entry.first, part);
        let value = sealed(&key, payload);
        put(key, value);
    });
}

/// `o ‖ hash ‖ part`.
pub(super) fn object_key(hash: &Hash, part: u32) -> Vec<u8> {
    let mut key = Vec::with_capacity(37);
    key.push(OBJECTS);
    key.extend_from_slice(hash.as_bytes());
    key.extend_from_slice(&part.to_be_bytes());
    key
}

/// The rows of an object; the first begins with the count of parts and a zero.
pub(crate) fn object(hash: &Hash, bytes: &[u8], mut put: impl FnMut(Vec<u8>, Vec<u8>)) {
    pieces(bytes, OBJECT_PIECE, 0, |part, payload| {
        let key = object_key(hash, part);
        let value = sealed(&key, payload);
        put(key, value);
    });
}

fn pieces(bytes: &[u8], size: usize, count: u32, mut put: impl FnMut(u32, &[u8])) {
    let parts = u32::try_from(bytes.len().div_ceil(size).max(1)).unwrap_or(u32::MAX);
    let (front, rest) = bytes.split_at_checked(size).unwrap_or((bytes, &[]));
    let mut first = Vec::with_capacity(front.len() + 8);
    first.extend_from_slice(&parts.to_be_bytes());
    first.extend_from_slice(&count.to_be_bytes());
    first.extend_from_slice(front);
    put(0, &first);
    for (part, piece) in (1..).zip(rest.chunks(size)) {
        put(part, piece);
    }
}

/// `h ‖ session` → seq, hash, time.
pub(crate) fn head(session: Uuid, head: &Head) -> (Vec<u8>, Vec<u8>) {
    let mut key = vec![HEADS];
    key.extend_from_slice(session.as_bytes());
    let mut payload = Vec::with_capacity(48);
    payload.extend_from_slice(&head.seq.to_be_bytes());
    payload.extend_from_slice(head.hash.as_bytes());
    payload.extend_from_slice(&head.at_us.to_be_bytes());
    let value = sealed(&key, &payload);
    (key, value)
}

/// What [`head`] writes.
pub(super) fn read_head(key: &[u8], value: &[u8]) -> Option<(Uuid, Head)> {
    let (payload, _) = unsealed(key, value)?;
    let mut name = Cursor(key);
    name.u8()?;
    let mut cursor = Cursor(payload);
    Some((
        name.uuid()?,
        Head {
            seq: cursor.u64()?,
            hash: cursor.hash()?,
            at_us: cursor.i64()?,
        },
    ))
}

/// A row of open work: its key, and its value unless it is to go.
pub(crate) fn work(row: &WorkRow) -> (Vec<u8>, Option<Vec<u8>>) {
    let mut key = Vec::with_capacity(33);
    let mut payload = Vec::new();
    let mut name = |letter: u8, front: &[u8], session: &Uuid, item: u64| {
        key.push(letter);
        key.extend_from_slice(front);
        key.extend_from_slice(session.as_bytes());
        key.extend_from_slice(&item.to_be_bytes());
    };
    let stays = match row {
        WorkRow::Item(item) => {
            name(ITEMS, &[], &item.session, item.item);
            crate::log::put_item(&mut payload, item);
            true
        }
        WorkRow::NoItem(session, item) => {
            name(ITEMS, &[], session, *item);
            false
        }
        WorkRow::Deadline(at, session, item) | WorkRow::NoDeadline(at, session, item) => {
            // With the sign turned over, times before 1970 come first.
            name(DEADLINES, &(at ^ i64::MIN).to_be_bytes(), session, *item);
            matches!(row, WorkRow::Deadline(..))
        }
        WorkRow::Request(request, session, item) => {
            key.push(REQUESTS);
            key.extend_from_slice(request.as_bytes());
            payload.extend_from_slice(session.as_bytes());
            payload.extend_from_slice(&item.to_be_bytes());
            true
        }
    };
    let value = stays.then(|| sealed(&key, &payload));
    (key, value)
}

/// `m` → journal, frame number, frame checksum, where the frame ends.
pub(super) fn mark(journal: Uuid, mark: Written) -> Vec<u8> {
    let mut payload = Vec::with_capacity(36);
    payload.extend_from_slice(journal.as_bytes());
    payload.extend_from_slice(&mark.number.to_be_bytes());
    payload.extend_from_slice(&mark.checksum.to_be_bytes());
    payload.extend_from_slice(&mark.end.to_be_bytes());
    sealed(&MARK, &payload)
}

/// What [`mark`] writes.
pub(super) fn read_mark(value: &[u8]) -> Option<(Uuid, Written)> {
    let (payload, _) = unsealed(&MARK, value)?;
    let mut cursor = Cursor(payload);
    Some((
        cursor.uuid()?,
        Written {
            number: cursor.u64()?,
            checksum: cursor.u32()?,
            end: cursor.u64()?,
        },
    ))
}
