//! The bytes of one append in a frame.

use std::ops::Range;

use uuid::Uuid;

use super::cursor::{Cursor, put_sized};
use crate::{Append, Hash, Object, OpenItem, WorkChange};

/// The length of the header of an append: its length and its checksum.
pub(crate) const APPEND_HEADER: usize = 8;

/// One append, borrowed from the bytes of its frame.
#[derive(Clone, Debug)]
pub(crate) struct LoggedAppend<'a> {
    pub(crate) session: Uuid,
    pub(crate) first: u64,
    pub(crate) lines: Vec<&'a [u8]>,
    /// The objects, each with the offset of its bytes in the body.
    pub(crate) objects: Vec<(Hash, usize, &'a [u8])>,
    pub(crate) work: Vec<WorkChange>,
}

/// An encoded append, and the places of its objects in its body.
pub(crate) struct Encoded {
    /// `length(4) crc(4) body`.
    pub(crate) bytes: Vec<u8>,
    /// The objects, each with its first byte and its length.
    pub(crate) objects: Vec<(Hash, usize, usize)>,
}

/// Encodes an append. Objects for which `kept` is true are left out.
pub(crate) fn encode(append: &Append, kept: impl Fn(&Hash) -> bool) -> Encoded {
    let objects: Vec<&Object> = append
        .objects
        .iter()
        .filter(|object| !kept(&object.hash))
        .collect();
    // The whole append. The header is filled in once the body is complete.
    let mut body = Vec::with_capacity(
        128 + append
            .lines
            .iter()
            .map(|line| line.bytes().len() + 4)
            .sum::<usize>(),
    );
    body.resize(APPEND_HEADER, 0);
    body.extend_from_slice(append.session.as_bytes());
    body.extend_from_slice(&append.expected.saturating_add(1).to_be_bytes());
    for count in [append.lines.len(), objects.len(), append.open_work.len()] {
        body.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_be_bytes());
    }
    for line in &append.lines {
        put_sized(&mut body, line.bytes());
    }
    let mut places = Vec::with_capacity(objects.len());
    for object in objects {
        body.extend_from_slice(object.hash.as_bytes());
        put_sized(&mut body, &object.bytes);
        let first = body.len() - object.bytes.len() - APPEND_HEADER;
        places.push((object.hash, first, object.bytes.len()));
    }
    for change in &append.open_work {
        match change {
            WorkChange::Put(item) => {
                body.push(1);
                put_item(&mut body, item);
            }
            WorkChange::Remove { session, item } => {
                body.push(0);
                body.extend_from_slice(session.as_bytes());
                body.extend_from_slice(&item.to_be_bytes());
            }
        }
    }
    let (length, checksum) = (body.len() - APPEND_HEADER, checksum_of(&body));
    let header = [
        u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes(),
        checksum.to_be_bytes(),
    ];
    if let Some(place) = body.get_mut(..APPEND_HEADER) {
        place.copy_from_slice(header.as_flattened());
    }
    Encoded {
        bytes: body,
        objects: places,
    }
}

fn checksum_of(append: &[u8]) -> u32 {
    crc32fast::hash(append.get(APPEND_HEADER..).unwrap_or_default())
}

/// Splits a frame's payload into the bodies of its appends, each with true if its checksum holds.
/// The iterator ends early if the lengths are wrong.
pub(crate) fn split(payload: &[u8]) -> impl Iterator<Item = (&[u8], bool)> {
    bodies(payload).map(|(body, checksum)| (body, crc32fast::hash(body) == checksum))
}

/// Splits a frame's payload into the bodies of its appends, each with the checksum that it should
/// have.
pub(super) fn bodies(payload: &[u8]) -> impl Iterator<Item = (&[u8], u32)> {
    let mut cursor = Cursor(payload);
    std::iter::from_fn(move || {
        let (length, checksum) = (cursor.u32()?, cursor.u32()?);
        let body = cursor.take(usize::try_from(length).ok()?)?;
        Some((body, checksum))
    })
}

impl<'a> LoggedAppend<'a> {
    /// Decodes the body of an append.
    pub(crate) fn decode(body: &'a [u8]) -> Option<Self> {
        let mut cursor = Cursor(body);
        let (session, first) = (cursor.uuid()?, cursor.u64()?);
        let (lines, objects, work) = (cursor.u32()?, cursor.u32()?, cursor.u32()?);
        let lines = (0..lines)
            .map(|_| cursor.sized())
            .collect::<Option<Vec<_>>>()?;
        let objects = (0..objects)
            .map(|_| {
                let (hash, bytes) = (cursor.hash()?, cursor.sized()?);
                Some((hash, body.len() - cursor.0.len() - bytes.len(), bytes))
            })
            .collect::<Option<Vec<_>>>()?;
        let work = (0..work)
            .map(|_| change(&mut cursor))
            .collect::<Option<Vec<_>>>()?;
        cursor.is_empty().then_some(Self {
            session,
            first,
            lines,
            objects,
            work,
        })
    }

    /// Reads the session, the seq of the first record, and the records of a body with a valid
    /// checksum.
    pub(crate) fn records(
        body: &'a [u8],
    ) -> Option<(Uuid, u64, impl Iterator<Item = &'a [u8]> + Clone)> {
        let mut cursor = Cursor(body);
        let (session, first) = (cursor.uuid()?, cursor.u64()?);
        let (lines, _objects, _work) = (cursor.u32()?, cursor.u32()?, cursor.u32()?);
        let records = (0..lines).map_while(move |_| cursor.sized());
        Some((session, first, records))
    }

    /// Reads the session, and the place of each record in a body with a valid checksum.
    pub(crate) fn ranges(body: &[u8]) -> Option<(Uuid, impl Iterator<Item = Range<usize>>)> {
        let (session, _, records) = LoggedAppend::records(body)?;
        // The session, the first seq, and three counts.
        let mut end = 16 + 8 + 3 * 4;
        let ranges = records.map(move |record| {
            let start = end + 4;
            end = start + record.len();
            start..end
        });
        Some((session, ranges))
    }

    pub(crate) fn last(&self) -> u64 {
        self.first
            .saturating_add(self.lines.len() as u64)
            .saturating_sub(1)
    }
}

fn change(cursor: &mut Cursor<'_>) -> Option<WorkChange> {
    match cursor.u8()? {
        0 => Some(WorkChange::Remove {
            session: cursor.uuid()?,
            item: cursor.u64()?,
        }),
        1 => take_item(cursor).map(WorkChange::Put),
        _ => None,
    }
}

/// Writes an open item: session, item, since, flags, the presence bits, deadline, request, kind.
pub(crate) fn put_item(out: &mut Vec<u8>, item: &OpenItem) {
    out.extend_from_slice(item.session.as_bytes());
    out.extend_from_slice(&item.item.to_be_bytes());
    out.extend_from_slice(&item.since_us.to_be_bytes());
    out.extend_from_slice(&item.flags.to_be_bytes());
    out.push(u8::from(item.deadline_us.is_some()) | u8::from(item.request.is_some()) << 1);
    if let Some(deadline) = item.deadline_us {
        out.extend_from_slice(&deadline.to_be_bytes());
    }
    if let Some(request) = item.request {
        out.extend_from_slice(request.as_bytes());
    }
    put_sized(out, item.kind.as_bytes());
}

/// Reads what [`put_item`] writes.
pub(crate) fn take_item(cursor: &mut Cursor<'_>) -> Option<OpenItem> {
    let (session, item, since_us, flags) =
        (cursor.uuid()?, cursor.u64()?, cursor.i64()?, cursor.u32()?);
    let present = cursor.u8()?;
    let deadline_us = if present & 1 == 0 {
        None
    } else {
        Some(cursor.i64()?)
    };
    let request = if present & 2 == 0 {
        None
    } else {
        Some(cursor.uuid()?)
    };
    let kind = str::from_utf8(cursor.sized()?).ok()?.to_owned();
    Some(OpenItem {
        session,
        item,
        kind,
        since_us,
        deadline_us,
        request,
        flags,
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::{Durability, Line};

    #[test]
    fn append_is_decoded_as_encoded() {
        let session = Uuid::from_u128(9);
        let item = OpenItem {
            session,
            item: 4,
            kind: "confirmation".to_owned(),
            since_us: -5,
            deadline_us: Some(i64::MIN),
            request: Some(Uuid::from_u128(8)),
            flags: 7,
        };
        let bare = OpenItem {
            deadline_us: None,
            request: None,
            ..item.clone()
        };
        let open_work = vec![
            WorkChange::Put(item),
            WorkChange::Put(bare),
            WorkChange::Remove { session, item: 4 },
        ];
        let append = Append {
            session,
            expected: 3,
            lines: vec![Line::new(*b"{one}"), Line::new(*b"{two}")],
            objects: vec![Object::new(*b"kept"), Object::new(*b"\0new")],
            open_work: open_work.clone(),
            durability: Durability::Durable,
            carries_out: None,
        };
        let kept = Hash::of_object(b"kept");
        let encoded = encode(&append, |hash| *hash == kept);
        let (body, intact) = split(&encoded.bytes).next().unwrap();
        let decoded = LoggedAppend::decode(body).unwrap();
        assert!(intact);
        assert_eq!(
            (decoded.session, decoded.first, decoded.last()),
            (session, 4, 5)
        );
        assert_eq!(decoded.lines, [b"{one}", b"{two}"]);
        assert_eq!(decoded.objects.len(), 1);
        let (hash, offset, object) = *decoded.objects.first().unwrap();
        assert_eq!((hash, object), (Hash::of_object(b"\0new"), &b"\0new"[..]));
        assert_eq!(body.get(offset..offset + 4), Some(object));
        assert_eq!(encoded.objects, [(hash, offset, 4)]);
        assert_eq!(decoded.work, open_work);
        for cut in 0..body.len() {
            assert!(LoggedAppend::decode(body.get(..cut).unwrap()).is_none());
        }
    }
}
